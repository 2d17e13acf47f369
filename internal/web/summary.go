package web

import (
	"context"
	"fmt"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/service"
)

// A summary reads all submissions, about a million in a second. So it is computed
// once for concurrent readers, and cached until this process writes to the form.
const (
	summaryTTL   = 10 * time.Second
	maxSummaries = 50 // cached; each of them is bounded by newSummaryView
)

// summaryKey is what a summary depends on. It is made for each request after the
// caller's rights were looked up, so callers with the same key may see the same
// submissions.
type summaryKey struct {
	form   *forms.Form // an edit of the page makes another one
	writes uint64      // so that people see their own writes at once
	user   string      // whose submissions; "" for all of them
	filter string
	by     string // id of the field that it is split by; "" for none
	lang   *lang.Language
}

func newSummaryKey(access *service.Access, user string, opts query.List) summaryKey {
	key := summaryKey{
		form: access.Form, writes: access.Writes(), user: user, filter: fmt.Sprintf("%#v", opts.Filter),
	}
	if access.Rights.SeeAll {
		key.user = ""
	}
	if opts.By != nil {
		key.by = *opts.By
	}
	if opts.Username != nil {
		key.filter += fmt.Sprintf(" of %q", *opts.Username)
	}
	return key
}

type summaryCache = *otter.Cache[summaryKey, *summaryView]

func newSummaryCache(now auth.Clock) summaryCache {
	return otter.Must(&otter.Options[summaryKey, *summaryView]{
		MaximumSize: maxSummaries, Clock: now, ExpiryCalculator: otter.ExpiryWriting[summaryKey, *summaryView](summaryTTL),
	})
}

// summary returns the summary of what a page shows: the cached one, or it is computed
// within the caller's request, for all concurrent ones. If that is given up, another of
// them computes it.
func (c *call) summary(access *service.Access, v *resultsView) (*summaryView, error) {
	if err := c.HoldSummary(query.SummaryBytes(access.Form, v.opts.By != nil)); err != nil {
		return nil, err
	}
	key := newSummaryKey(access, c.Who.Name, v.opts)
	key.lang = v.lang
	compute := func(context.Context, summaryKey) (*summaryView, error) {
		working := func() error { c.Log.Working(); return nil }
		all := access.Submissions(c.Context(), working) //nolint:contextcheck // of the request that computes it
		sum, err := all.Summary(query.List{Username: v.opts.Username, Filter: v.opts.Filter, By: v.opts.By})
		if err != nil {
			return nil, err
		}
		return newSummaryView(access.Form, sum, v), nil
	}
	return c.Site.summaries.Get(c.Context(), key, otter.LoaderFunc[summaryKey, *summaryView](compute))
}
