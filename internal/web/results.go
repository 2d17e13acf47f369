package web

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"sync"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// resultsPage is the submissions of a form that somebody may see: a summary,
// and a table of some of them. The large parts are put in later, see
// renderResults.
type resultsPage struct {
	resultsShell
	Errors []problem
	Active []activeFilter
	Kept   []keptValue // parameters of the address that the filter form keeps
}

// resultsShell is what nearly every page of results is made of. It is
// comparable, see shellCache.
type resultsShell struct {
	Layout
	Crumbs
	Hidden  bool  // the form is anonymous, so that the caller's own can't be told
	Deleted int64 // id of a submission that was deleted just now; 0 for none
	Filter  filterForm
	Empty   bool
	Left    int           // answers to fields that have left the page, which the table has no room for
	ShowAll string        // path of the results without filters; "" if there are none
	First   string        // path of the first page; "" if this is it
	Exports template.HTML // links
	ByID    bool          // exports are by id, unlike the table

	Summary, Table, Next template.HTML // their places
}

func (s *Site) results(w http.ResponseWriter, c *call) error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	v := readResults(c)
	if v.changed && v.invalid.Err() == nil {
		redirect(w, c.Request, v.link(v.base()))
		return nil
	}
	page := s.newResultsPage(c, access, v)
	if err := v.invalid.Err(); err != nil {
		return s.refuseResults(w, c, page, &v.invalid)
	}
	if v.part == summaryPartName {
		return s.sendSummary(w, c, access, v)
	}
	if err := c.HoldList(); err != nil {
		return err
	}
	table, next, err := c.readTable(w, access, v)
	defer table.free()
	var invalid *forms.Invalid
	if errors.As(err, &invalid) { // only the form and what is stored could tell
		return s.refuseResults(w, c, page, invalid)
	}
	if err != nil {
		return err
	}
	var summary summaryPart
	if page.Empty = len(table.rows) == 0; !page.Empty {
		page.Left = table.more
		if summary, err = s.summary(c, access, v, summaryWait); err != nil {
			return err
		}
	}
	if err := c.MayStillList(access); err != nil {
		return err
	}
	html, err := s.renderResults(page, summary, table, v, next)
	if err != nil {
		return err
	}
	setPageHeader(w.Header())
	_, _ = w.Write(html)
	return nil
}

// The places of what renderResults puts into a page. Nothing that people wrote
// can look like them: a "<" of theirs is escaped.
const (
	summaryPlace = "<!--summary-->"
	tablePlace   = "<!--table-->"
	nextPlace    = "<!--next-->"
)

// renderResults returns the page with its large parts in their places: a
// template would copy them several times. The page is valid until the table is
// freed.
func (s *Site) renderResults(page *resultsPage, summary summaryPart, table *resultTable, v *resultsView, next string) ([]byte, error) {
	shell, err := s.shells.render(s.templates, page)
	if err != nil {
		return nil, err
	}
	b := table.buffers.page[:0]
	upTo := func(place string) bool {
		before, after, found := bytes.Cut(shell, []byte(place))
		if found {
			b, shell = append(b, before...), after
		}
		return found
	}
	if upTo(summaryPlace) {
		if b, err = s.appendSummary(b, summary); err != nil {
			return nil, err
		}
	}
	if upTo(tablePlace) {
		b = table.appendTo(b, v.caption(table.form), v)
	}
	if upTo(nextPlace) && next != "" {
		b = append(b, `<a class="button secondary" rel="next" href="`...)
		b = append(appendEscaped(b, next), `">Next</a>`...)
	}
	b = append(b, shell...)
	table.buffers.page = b
	return b, nil
}

// shellCache keeps pages without their large parts: a template makes the same
// of the same page. Without it the template would take half of the time that a
// page takes.
type shellCache struct {
	mu     sync.Mutex
	shells map[resultsShell][]byte
	bytes  int
}

// maxShellBytes bounds the memory of the cache.
const maxShellBytes = 4 << 20

// render returns a page. Nobody may write to it.
func (c *shellCache) render(t *template.Template, page *resultsPage) ([]byte, error) {
	usual := len(page.Errors) == 0 && len(page.Active) == 0 && len(page.Kept) == 0 && page.Deleted == 0
	if usual {
		c.mu.Lock()
		shell := c.shells[page.resultsShell]
		c.mu.Unlock()
		if shell != nil {
			return shell, nil
		}
	}
	var buf bytes.Buffer
	if err := t.ExecuteTemplate(&buf, "results.html", page); err != nil {
		return nil, fmt.Errorf("render results: %w", err)
	}
	if usual {
		c.keep(page.resultsShell, bytes.Clone(buf.Bytes()))
	}
	return buf.Bytes(), nil
}

// keep begins anew when the cache is full: the pages that are asked for are
// soon there again.
func (c *shellCache) keep(page resultsShell, shell []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := 2 * len(shell) // the key holds much of the same
	if c.bytes += size; c.shells == nil || c.bytes > maxShellBytes {
		c.shells, c.bytes = map[resultsShell][]byte{}, size
	}
	c.shells[page] = shell
}

// readTable reads the submissions of the page.
func (c *call) readTable(w http.ResponseWriter, access *service.Access, v *resultsView) (t *resultTable, next string, err error) {
	opts := v.opts
	opts.Begin = func(p service.Page) error {
		if p.After != 0 || p.Cursor != "" {
			next = request.NextPage(&url.URL{Path: c.URL.Path, RawPath: c.URL.RawPath, RawQuery: v.base().Encode()}, p)
		}
		return nil
	}
	opts.Check = func() error { return c.MayStillList(access) }
	t = newResultTable(access.Form, c.formPath(access.Form), opts.Limit)
	err = access.List(c.Context(), opts, t.add)
	return t, next, err
}

func (s *Site) newResultsPage(c *call, access *service.Access, v *resultsView) *resultsPage {
	title := "Results"
	if !access.MaySeeAll() {
		title = "My submissions"
	}
	page := &resultsPage{
		resultsShell: resultsShell{
			Layout: c.formLayout(title, access), Crumbs: c.crumbs(access), Hidden: access.Form.Anonymous && !access.MaySeeAll(),
			Deleted: v.deleted, Filter: newFilterForm(access.Form, v), Exports: v.exports(), ByID: v.opts.Sort != nil,
			Summary: summaryPlace, Table: tablePlace, Next: nextPlace,
		},
	}
	page.Active, page.Kept = v.active(access.Form)
	page.Results = "" // this is it
	page.Wide, page.Script = true, "results.js"
	if v.filtered() {
		page.ShowAll = v.path
	}
	if v.query.Has("after") || v.query.Has("cursor") {
		page.First = v.link(v.base())
	}
	return page
}

// refuseResults shows what is wrong with the parameters, and what was sent.
func (s *Site) refuseResults(w http.ResponseWriter, c *call, page *resultsPage, invalid *forms.Invalid) error {
	page.Title = "Error: " + page.Title
	for _, text := range invalid.Errors {
		page.Errors = append(page.Errors, problem{Href: page.Filter.elementOf(text), Text: text})
	}
	page.Exports, page.ShowAll = "", c.URL.EscapedPath()
	return c.render(w, http.StatusUnprocessableEntity, "results", page)
}

// sendSummary answers the script of the page, which puts the summary in its
// place once it is there.
func (s *Site) sendSummary(w http.ResponseWriter, c *call, access *service.Access, v *resultsView) error {
	part, err := s.summary(c, access, v, summaryLongWait)
	if err == nil {
		err = c.MayStillList(access)
	}
	if err != nil {
		return err
	}
	if part.Pending {
		request.SetNoStore(w.Header())
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	html, err := s.appendSummary(nil, part)
	if err != nil {
		return err
	}
	setPageHeader(w.Header())
	_, _ = w.Write(html)
	return nil
}

func (s *Site) exportCSV(w http.ResponseWriter, c *call) error { return s.export(w, c, encode.CSV) }

func (s *Site) exportXLSX(w http.ResponseWriter, c *call) error { return s.export(w, c, encode.XLSX) }

func (s *Site) exportNDJSON(w http.ResponseWriter, c *call) error {
	return s.export(w, c, encode.NDJSON)
}

// export sends all submissions that the filters select, whatever part of them
// a page shows. A list that is sorted by values has a limit, so an export is by
// id.
func (s *Site) export(w http.ResponseWriter, c *call, format *encode.Format) error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	params := request.ReadParams(c.URL.RawQuery)
	query := params.Values
	if err := params.Err(); err != nil {
		return err
	}
	for _, name := range []string{"limit", "after", "cursor", "sort", "count"} {
		query.Del(name)
	}
	at := *c.URL
	at.RawQuery = query.Encode()
	request := *c.Request
	request.URL = &at
	c.Request = &request
	return encode.SendListAs(w, c.Call, access, encode.Flat, format)
}

// caption says in which order rows are.
func (v *resultsView) caption(f *forms.Form) string {
	order := v.opts.Sort
	switch {
	case order == nil && v.opts.Descending:
		return "Submissions, newest first"
	case order == nil:
		return "Submissions, oldest first"
	case order.Descending:
		return "Submissions by “" + columnLabel(f, order.ID) + "”, descending"
	default:
		return "Submissions by “" + columnLabel(f, order.ID) + "”, ascending"
	}
}

// columnLabel is what a column is called.
func columnLabel(f *forms.Form, id string) string {
	switch id {
	case forms.ColumnID:
		return "Submission"
	case forms.ColumnTimestamp:
		return "Time"
	case forms.ColumnUsername:
		return "User name"
	}
	for rank := range f.Fields {
		if f.Fields[rank].ID == id {
			return labelOf(&f.Fields[rank])
		}
	}
	return id
}
