package web

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"fmt"
	"html/template"
	"strconv"
	"sync"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// A summary needs a pass over all submissions: about a second for a million. So
// summaries are kept for a while. The passes of one summary take at most
// 1/keepFactor of the time, and those of small forms are always fresh.
const (
	keepFactor = 20
	// summaryWait is how long a page waits for a summary.
	summaryWait = 150 * time.Millisecond
	// summaryLongWait is how long the script of a page waits, each time it asks.
	summaryLongWait = 10 * time.Second
	// maxPass bounds a pass.
	maxPass = 2 * time.Minute
	// shownAge is the age from which on a page says how old its summary is.
	shownAge = 5 * time.Second
	// maxSummaries and maxSummaryBytes bound the memory of all that are kept.
	maxSummaries    = 200
	maxSummaryBytes = 16 << 20
)

// summaryKey is what a summary is made of. Whoever has the same key may see the
// same submissions: it is made after the caller's rights were looked up, by
// every request.
type summaryKey struct {
	form   *forms.Form // an edit of the page makes another one
	all    bool        // of all submissions
	user   string      // whose submissions, unless all
	filter string
}

// newSummaryKey makes the key of what a caller asks for.
func newSummaryKey(access *service.Access, user string, opts service.ListOptions) summaryKey {
	key := summaryKey{form: access.Form, all: access.MaySeeAll(), user: user}
	if key.all {
		key.user = ""
	}
	if opts.Username == nil && opts.Filter.IsZero() {
		return key
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

// keptSummary is a summary as it stands on a page.
type keptSummary struct {
	key  summaryKey
	html template.HTML // "" if it could not be made
	made time.Time     // when its pass began
	took time.Duration
}

// keep is how long the summary is as good as a new one.
func (k *keptSummary) keep() time.Duration { return keepFactor * k.took }

func (k *keptSummary) size() int { return len(k.html) + len(k.key.filter) + len(k.key.user) }

// beginPass returns what makes a summary, or why it can't be made now.
type beginPass func() (pass func() template.HTML, err error)

// summaryPass is a summary that is being made.
type summaryPass struct {
	done   chan struct{} // closed once result is there
	result *keptSummary
}

// summaryCache keeps summaries, and makes each of them once at a time, for all
// that ask for it.
type summaryCache struct {
	now func() time.Time

	mu     sync.Mutex
	kept   map[summaryKey]*list.Element // of order
	order  *list.List                   // of *keptSummary; the one that was used last is in front
	bytes  int
	passes map[summaryKey]*summaryPass
}

func newSummaryCache() *summaryCache {
	return &summaryCache{now: time.Now, kept: map[summaryKey]*list.Element{}, order: list.New(), passes: map[summaryKey]*summaryPass{}}
}

// get returns a summary that is kept, or has one made. It waits for that, but
// not longer than it may, and returns nil if there is none by then. Rather than
// none, it returns one that is up to twice as old as it should be.
func (s *summaryCache) get(ctx context.Context, key summaryKey, wait time.Duration, begin beginPass) (*keptSummary, error) {
	old, pass, err := s.find(key, begin)
	if err != nil || pass == nil {
		return old, err
	}
	if old != nil && old.took > wait {
		return old, nil // a new one would take as long
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-pass.done:
		return pass.result, nil
	case <-ctx.Done():
		return old, ctx.Err()
	case <-timer.C:
		return old, nil
	}
}

// find returns what is kept, and the pass that makes a new one unless the kept
// one is fresh.
func (s *summaryCache) find(key summaryKey, begin beginPass) (old *keptSummary, pass *summaryPass, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.kept[key]; e != nil {
		s.order.MoveToFront(e)
		old = e.Value.(*keptSummary)
		age := s.now().Sub(old.made.Add(old.took))
		if age < old.keep() {
			return old, nil, nil
		}
		if age >= 2*old.keep() {
			old = nil
		}
	}
	if pass = s.passes[key]; pass != nil {
		return old, pass, nil
	}
	run, err := begin()
	if err != nil {
		return nil, nil, err
	}
	pass = &summaryPass{done: make(chan struct{})}
	s.passes[key] = pass
	go s.run(key, pass, run)
	return old, pass, nil
}

// run makes a summary and caches it. A failure is not cached: the next request
// tries again.
func (s *summaryCache) run(key summaryKey, pass *summaryPass, html func() template.HTML) {
	result := &keptSummary{key: key, made: s.now()}
	result.html = html()
	result.took = s.now().Sub(result.made)
	s.mu.Lock()
	defer s.mu.Unlock()
	if result.html != "" {
		s.store(result)
	}
	delete(s.passes, key)
	pass.result = result
	close(pass.done)
}

// store keeps a summary, and lets go of those that were not used for longest.
func (s *summaryCache) store(k *keptSummary) {
	if e := s.kept[k.key]; e != nil {
		s.remove(e)
	}
	s.kept[k.key] = s.order.PushFront(k)
	s.bytes += k.size()
	for s.order.Len() > maxSummaries || s.bytes > maxSummaryBytes {
		s.remove(s.order.Back())
	}
}

func (s *summaryCache) remove(e *list.Element) {
	k := s.order.Remove(e).(*keptSummary)
	delete(s.kept, k.key)
	s.bytes -= k.size()
}

// summaryPart is the summary on a page, or what stands in its place.
type summaryPart struct {
	HTML    template.HTML
	Pending bool
	Failed  bool      // it could not be made
	Reload  string    // path of the page
	AsOf    time.Time // zero if it is of right now
}

// appendSummary writes the summary, or what stands in its place.
func (s *Site) appendSummary(b []byte, part summaryPart) ([]byte, error) {
	if part.HTML != "" && part.AsOf.IsZero() {
		return append(b, part.HTML...), nil // as nearly always
	}
	buf := bytes.NewBuffer(b)
	if err := s.templates.ExecuteTemplate(buf, "summary", part); err != nil {
		return nil, fmt.Errorf("render a summary: %w", err)
	}
	return buf.Bytes(), nil
}

// summary returns the summary of what a page shows, or what stands in its place.
func (s *Site) summary(c *call, access *service.Access, v *resultsView, wait time.Duration) (summaryPart, error) {
	part := summaryPart{Reload: c.URL.RequestURI()}
	key := newSummaryKey(access, c.Who.Name, v.opts)
	found, err := s.summaries.get(c.Context(), key, wait, func() (func() template.HTML, error) { return s.newPass(c, access, v) })
	switch {
	case isBusy(err):
		part.Failed = true
	case err != nil:
		return part, err
	case found == nil:
		part.Pending = true
	case found.html == "":
		part.Failed = true
	default:
		part.HTML = found.html
		if made := found.made.Add(found.took); s.summaries.now().Sub(made) > shownAge {
			part.AsOf = made
		}
	}
	return part, nil
}

func isBusy(err error) bool {
	var status *request.StatusError
	return errors.As(err, &status)
}

// newPass returns what makes a summary. It goes on if the caller goes away: the
// next one who asks finds it.
func (s *Site) newPass(c *call, access *service.Access, v *resultsView) (func() template.HTML, error) {
	release, err := c.HoldListFor()
	if err != nil {
		return nil, err
	}
	return func() template.HTML {
		defer release()
		ctx, cancel := context.WithTimeout(context.Background(), maxPass)
		defer cancel()
		html, err := s.makeSummary(ctx, access, v)
		if err != nil {
			s.Backend.Logger.Error("summary not made", "page", access.Form.PageID, "form", access.Form.ID, "error", err)
		}
		return html
	}, nil
}

// makeSummary reads all submissions. It runs apart from any request, so that a
// panic would end the program.
func (s *Site) makeSummary(ctx context.Context, access *service.Access, v *resultsView) (html template.HTML, err error) {
	defer func() {
		if p := recover(); p != nil {
			html, err = "", fmt.Errorf("panic: %v", p)
		}
	}()
	sum, err := access.Summary(ctx, service.ListOptions{Username: v.opts.Username, Filter: v.opts.Filter})
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := s.templates.ExecuteTemplate(&b, "charts", newSummaryView(access.Form, sum, v)); err != nil {
		return "", fmt.Errorf("render a summary: %w", err)
	}
	return template.HTML(b.String()), nil //nolint:gosec // the template has escaped it
}
