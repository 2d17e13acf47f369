package request

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/table"
)

// ListView is the parameters of a list, and how a page of the browser changes it.
type ListView struct {
	Params   *Params
	Follow   bool                                    // lists by ascending id with after or limit go on later
	Numbers  bool                                    // filters compare numbers as such
	Columns  []string                                // of tables, see table.Options
	Zone     *time.Location                          // of tables with labels, see table.Options; nil for those of the API
	Headings []string                                // see table.Options
	Row      func(forms.Submission) forms.Submission // returns a submission as it is sent, with all values; nil: as it is
}

// listRequest is what a request for a list asks for.
type listRequest struct {
	query.List
	format     *encode.Format
	negotiated bool // the header Accept may have decided the format
	table      table.Options
}

// SendList answers with a list in the one of the given formats that the request
// asks for. If there is one only, the list is in that, whatever the request asks
// for. Rights are checked before each part is sent.
func (c *Call) SendList(
	w http.ResponseWriter, access *service.Access, view ListView, model encode.Model, formats ...*encode.Format,
) error {
	asked, err := view.read(c.Header, formats)
	if err != nil {
		return err
	}
	head := c.Method == http.MethodHead
	if !head || asked.selects() {
		if err := c.HoldList(); err != nil {
			return err
		}
	}
	check := func() error { return c.MayStillList(access) }
	page, rows, err := access.Submissions(c.Context(), check).List(asked.List)
	if err != nil {
		return err
	}
	if head { // it must not promise a list that GET could not give
		for _, err = range rows {
			break
		}
		if err == nil {
			c.beginList(w.Header(), access.Form, asked, page)
		}
		return err
	}
	list := encode.List{Form: access.Form, Format: asked.format, Model: model, Table: asked.table, Row: view.Row}
	begun := false
	for part, err := range list.Parts(rows) {
		if err == nil {
			err = check()
		}
		if err == nil && !begun {
			c.beginList(w.Header(), access.Form, asked, page)
			begun = true
		}
		if err == nil {
			_, err = w.Write(part)
		}
		switch {
		case err != nil && begun:
			c.breakOff(err)
		case err != nil:
			return explainTable(err) // nothing has been sent: the error can still be answered
		}
	}
	return nil
}

// breakOff breaks off the connection. This is the only way left to tell the client that the list is not complete.
func (c *Call) breakOff(err error) {
	if c.Context().Err() == nil {
		c.LogError("list broken off", err)
	}
	panic(http.ErrAbortHandler)
}

// read reads the query and the headers of a request for a list. It ignores
// unknown parameters.
func (v ListView) read(header http.Header, formats []*encode.Format) (listRequest, error) {
	p := v.Params
	asked := listRequest{
		List: p.List(), format: formats[0], negotiated: len(formats) > 1,
		table: table.Options{
			Labels: p.Flag("labels", false), BOM: p.Flag("bom", false), NoGuard: !p.Flag("guard", true), Columns: v.Columns,
		},
	}
	if asked.negotiated {
		asked.format = pickFormat(p, header, formats)
	}
	asked.Filter.Numbers = v.Numbers
	byID := asked.Sort == nil && !asked.Descending
	asked.Follow = v.Follow && byID && (asked.Limit > 0 || p.Values.Has("after"))
	if asked.table.Labels && v.Zone != nil {
		asked.table.Zone, asked.table.Headings = v.Zone, v.Headings
	}
	asked.Changes = asked.table.Zone != nil || v.Columns != nil
	return asked, p.Err()
}

// selects reports whether more than the first row may be read to find it.
func (r *listRequest) selects() bool {
	return r.Limit > 0 || r.Sort != nil || r.Cursor != "" || !r.Filter.IsZero() || r.Count
}

// beginList sets the headers of a list. It is called when nothing but the list
// can be answered any more.
func (c *Call) beginList(h http.Header, form *forms.Form, asked listRequest, page query.Page) {
	if asked.negotiated {
		h.Add("Vary", "Accept")
	}
	if asked.table.Labels || asked.Filter.Search != "" { // which finds labels
		SetLanguages(h, form)
	}
	h["Content-Type"] = asked.format.ContentType
	SetNoStore(h)
	if asked.format == encode.CSV || asked.format == encode.XLSX {
		now := c.Backend.Service.Now()
		if !asked.table.Labels { // its times are in UTC
			now = now.UTC()
		}
		name := fileName(form, asked.table.Labels) + now.Format("-2006-01-02.") + asked.format.Name
		h.Set("Content-Disposition", Attachment(name))
	}
	if asked.Count {
		h.Set("X-Total-Count", strconv.FormatInt(page.Total, 10)) // of all, whatever part of the list is sent
	}
	if next := NextPage(c.URL, page); next != "" {
		h.Set("Link", "<"+next+`>; rel="next"`)
	}
}

// fileName is what a file of a form's answers is called: its title with labels, else
// its id.
func fileName(form *forms.Form, labels bool) string {
	if !labels || form.Title == "" {
		return form.ID
	}
	return forms.CleanFileName(strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) { // some system refuses it
			return '_'
		}
		return r
	}, form.Title))
}

// explainTable gives the errors of a table their status.
func explainTable(err error) error {
	switch {
	case errors.Is(err, table.ErrTooManyColumns):
		return forms.InvalidRequest(forms.SayN(
			"a table has at most {0} column, and this one would have more: use format=json or ndjson",
			"a table has at most {0} columns, and this one would have more: use format=json or ndjson", table.MaxColumns,
		))
	case errors.Is(err, table.ErrNewColumn):
		// The page has changed between the passes. The next request sees all of it.
		return service.NewError(service.Unavailable,
			forms.Say("The form has changed while its answers were read. Ask again."))
	default:
		return err
	}
}
