package wiki

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/formulary/formulary/internal/panics"
)

const (
	pageCalls  = 4    // at a time, of one call of Pages
	maxBatches = 4000 // of one call of All: 100,000 pages
)

// content is a page, or something else with an id: a blog post, a comment, an
// attachment.
type content struct {
	ID      string  `json:"id"`
	Type    *string `json:"type"` // nil in Cloud, where the path says that it is a page
	Status  string  `json:"status"`
	Title   string  `json:"title"`
	Version struct {
		Number int64 `json:"number"`
	} `json:"version"`
	Body struct {
		Storage *struct {
			Value string `json:"value"`
		} `json:"storage"`
	} `json:"body"`
	Operations []operation `json:"operations"` // what the caller may do
}

type operation struct {
	Operation  string `json:"operation"`
	TargetType string `json:"targetType"` // the page itself, its comments, its attachments
}

// isPage reports whether readers see this, and as a page: no draft, nothing in the
// trash. Blog posts are none, since Cloud has them at another path.
func (c content) isPage() bool { return (c.Type == nil || *c.Type == "page") && c.Status == "current" }

func (c content) page(id int64) Page {
	edit := slices.Contains(c.Operations, operation{"update", "page"})
	return Page{ID: id, Title: c.Title, Version: c.Version.Number, Edit: edit, HasText: true}
}

func (c content) source() Text {
	return Text{Version: c.Version.Number, Source: []byte(c.Body.Storage.Value)}
}

// check returns an error unless everything is there that was asked for.
func (e edition) check(c content, withText bool) (id int64, err error) {
	id, err = strconv.ParseInt(c.ID, 10, 64)
	if err != nil || c.Status == "" || c.Title == "" || c.Version.Number < 1 ||
		c.Type == nil && e.operations == "" || withText && c.isPage() && c.Body.Storage == nil {
		return 0, unavailablef("an answer with half a page")
	}
	return id, nil
}

// content returns one page, and whether it is there for the caller.
func (q *query) content(
	ctx context.Context, id int64, parameters url.Values, withText bool,
) (c content, found bool, err error) {
	if id < 1 {
		return c, false, nil
	}
	if found, err = q.get(ctx, q.path(id), parameters, &c); !found || err != nil {
		return c, false, err
	}
	got, err := q.check(c, withText)
	if err == nil && got != id {
		err = unavailablef("an answer about another page")
	}
	return c, c.isPage(), err
}

func (q *query) path(id int64) string { return q.pages + "/" + strconv.FormatInt(id, 10) }

// Pages implements Wiki.
func (c *confluence) Pages(ctx context.Context, caller Caller, ids ...int64) (map[int64]Page, error) {
	q := &query{confluence: c, Caller: caller}
	pages := map[int64]Page{}
	var mu sync.Mutex
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(pageCalls)
	for _, id := range ids {
		ask := func() error {
			content, found, err := q.content(groupCtx, id, q.page, false)
			if found && err == nil && q.operations != "" {
				found, err = q.get(groupCtx, q.path(id)+q.operations, nil, &struct {
					Operations *[]operation `json:"operations"`
				}{&content.Operations})
			}
			if found && err == nil {
				mu.Lock()
				defer mu.Unlock()
				pages[id] = content.page(id)
			}
			return err
		}
		group.Go(func() error { return panics.ToError(ask) })
	}
	if err := q.verify(ctx, group.Wait()); err != nil {
		return nil, err
	}
	return pages, nil
}

// Text implements Wiki.
func (c *confluence) Text(ctx context.Context, caller Caller, id int64) (Text, error) {
	q := &query{confluence: c, Caller: caller}
	content, found, err := q.content(ctx, id, q.text, true)
	if err := q.verify(ctx, err); err != nil {
		return Text{}, err
	}
	if !found {
		return Text{}, ErrNoText
	}
	return content.source(), nil
}

// batch is a part of the list of all pages.
type batch struct {
	Results []content `json:"results"`
	Links   struct {
		Next string `json:"next"`
	} `json:"_links"`
}

// All implements Wiki. Confluence does not say how many pages there are, and lists
// them without rights.
func (c *confluence) All(ctx context.Context, caller Caller, visit func(page Page, text Text, total int) error) error {
	q := &query{confluence: c, Caller: caller}
	seen, parameters := map[int64]bool{}, maps.Clone(c.list)
	for range maxBatches {
		var b batch
		found, err := q.get(ctx, c.pages, parameters, &b)
		if err := q.verify(ctx, err); err != nil {
			return err
		}
		if !found || b.Results == nil {
			return unavailablef("an answer that is no list of pages")
		}
		before := len(seen)
		if err := c.visitNew(b.Results, seen, visit); err != nil || b.Links.Next == "" {
			return err
		}
		next, err := url.Parse(b.Links.Next) // of any host: only the position in the list counts
		if err != nil || !next.Query().Has(c.next) || len(seen) == before && len(b.Results) > 0 {
			return unavailablef("a list of pages that does not go on, or begins again")
		}
		parameters.Set(c.next, next.Query().Get(c.next))
	}
	return unavailablef("a list of pages without an end")
}

// visitNew visits the pages of a batch that have not been seen.
func (c *confluence) visitNew(batch []content, seen map[int64]bool, visit func(Page, Text, int) error) error {
	for _, content := range batch {
		id, err := c.check(content, true)
		if err == nil && !seen[id] && content.isPage() {
			err = visit(content.page(id), content.source(), 0)
		}
		if err != nil {
			return err
		}
		seen[id] = true
	}
	return nil
}
