package web

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/service"
)

// A summary reads all submissions, about a million in a second. So it is computed
// once for concurrent readers, and cached.
const (
	summaryTTL   = 10 * time.Second
	maxSummaries = 50 // cached; each of them is bounded by newSummaryView
)

// summaryKey is what a summary depends on. It is made for each request after the
// caller's rights were looked up, so callers with the same key may see the same
// submissions.
type summaryKey struct {
	form   *forms.Form // an edit of the page makes another one
	all    bool        // of all submissions
	user   string      // whose submissions, unless all
	filter string
}

func newSummaryKey(access *service.Access, user string, opts service.ListOptions) summaryKey {
	key := summaryKey{form: access.Form, all: access.MaySeeAll(), user: user}
	if key.all {
		key.user = ""
	}
	var b []byte
	if opts.Username != nil {
		b = strconv.AppendQuote(append(b, 'u'), *opts.Username)
	}
	b = strconv.AppendQuote(append(b, 'q'), opts.Filter.Search)
	for _, r := range opts.Filter.Rules { // in the order of their names
		b = strconv.AppendQuote(b, r.FieldID)
		b = strconv.AppendQuote(b, string(r.Operator))
		b = strconv.AppendQuote(b, r.Value)
	}
	key.filter = string(b)
	return key
}

// summaryCache computes summaries, and caches them.
type summaryCache struct {
	now     func() time.Time
	flights singleflight.Group

	mu     sync.Mutex
	cached map[summaryKey]cachedSummary
}

type cachedSummary struct {
	view    *summaryView
	expires time.Time
}

func newSummaryCache() *summaryCache {
	return &summaryCache{now: time.Now, cached: map[summaryKey]cachedSummary{}}
}

// errCallerGone: the request that computed the summary was given up.
var errCallerGone = errors.New("the request was given up")

// get returns the cached summary, or computes it within the caller's request.
// Concurrent callers share one computation. If its request is given up, one of the
// others computes the summary.
func (s *summaryCache) get(ctx context.Context, key summaryKey, compute func() (*summaryView, error)) (*summaryView, error) {
	for {
		if view := s.find(key); view != nil {
			return view, nil
		}
		view, err, _ := s.flights.Do(fmt.Sprintf("%p %t %q %s", key.form, key.all, key.user, key.filter), func() (any, error) {
			view, err := compute()
			if err != nil && ctx.Err() != nil {
				return nil, errCallerGone
			}
			if err == nil {
				s.store(key, view)
			}
			return view, err
		})
		switch {
		case err == nil:
			return view.(*summaryView), nil
		case ctx.Err() != nil || !errors.Is(err, errCallerGone):
			return nil, err
		}
	}
}

func (s *summaryCache) find(key summaryKey) *summaryView {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.cached[key]; s.now().Before(c.expires) {
		return c.view
	}
	return nil
}

// store caches a summary. It evicts those that have expired, and any other ones if
// the cache is still full.
func (s *summaryCache) store(key summaryKey, view *summaryView) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	maps.DeleteFunc(s.cached, func(_ summaryKey, c cachedSummary) bool { return !now.Before(c.expires) })
	for k := range s.cached {
		if len(s.cached) < maxSummaries {
			break
		}
		delete(s.cached, k)
	}
	s.cached[key] = cachedSummary{view, now.Add(summaryTTL)}
}

// summary returns the summary of what a page shows.
func (s *Site) summary(c *call, access *service.Access, v *resultsView) (*summaryView, error) {
	key := newSummaryKey(access, c.Who.Name, v.opts)
	return s.summaries.get(c.Context(), key, func() (*summaryView, error) {
		sum, err := access.Summary(c.Context(), service.ListOptions{
			Username: v.opts.Username, Filter: v.opts.Filter, Check: func() error { c.Log.Working(); return nil },
		})
		if err != nil {
			return nil, err
		}
		return newSummaryView(access.Form, sum, v), nil
	})
}
