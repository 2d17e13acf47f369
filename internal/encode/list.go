package encode

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/table"
)

// FlushBytes is how much of a list is gathered before it is sent.
const FlushBytes = 128 << 10

// ListView is the parameters of a list, and how a page of the browser changes it.
type ListView struct {
	Params   *request.Params
	Follow   bool                                    // lists by ascending id with after or limit go on later
	Numbers  bool                                    // filters compare numbers as such
	Columns  []string                                // of tables, see table.Options
	Zone     *time.Location                          // of tables with labels, see table.Options; nil for those of the API
	Headings []string                                // see table.Options
	Row      func(forms.Submission) forms.Submission // returns a submission as it is sent, with all values; nil: as it is
}

// SendList answers with a list in the one of the given formats that the request
// asks for. If there is one only, the list is in that, whatever the request asks
// for. The list is written as it is read, so that neither side ever holds all of it.
func SendList(
	w http.ResponseWriter, c *request.Call, access *service.Access, view ListView, model Model, formats ...*Format,
) error {
	asked, err := readListRequest(view.Params, c.Header, formats)
	if err != nil {
		return err
	}
	asked.Filter.Numbers, asked.table.Columns = view.Numbers, view.Columns
	byID := asked.Sort == nil && !asked.Descending
	asked.Follow = view.Follow && byID && (asked.Limit > 0 || view.Params.Values.Has("after"))
	if asked.table.Labels && view.Zone != nil {
		asked.table.Zone, asked.table.Headings = view.Zone, view.Headings
	}
	asked.Changes = asked.table.Zone != nil || view.Columns != nil
	var page service.ListPage
	asked.Begin = func(p service.ListPage) error { page = p; return nil }
	asked.Check = func() error { return c.MayStillList(access) }
	begin := func() { beginList(w, c, access.Form, asked, page) }
	if c.Method == http.MethodHead {
		if err := tryList(c, access, asked.ListOptions); err != nil {
			return err
		}
		begin()
		return nil
	}
	if err := c.HoldList(); err != nil {
		return err
	}
	s := listWriter{w: w, buf: getBuffer(), begin: begin, check: asked.Check, row: view.Row}
	defer putBuffer(s.buf)
	list := func(opts service.ListOptions) scan {
		return func(visit func(forms.Submission) error) error { return access.List(c.Context(), opts, visit) }
	}
	rowsOnly := asked.ListOptions // for the first pass over a table
	rowsOnly.Begin, rowsOnly.Count, rowsOnly.Follow = nil, false, false
	f, err := newEncoder(asked, access.Form, model, list(rowsOnly))
	if err == nil {
		err = s.write(f, list(asked.ListOptions))
	}
	if err != nil && !s.begun {
		return explainTable(err) // nothing has been sent: the error can still be answered
	}
	if err != nil {
		// Breaking off the connection is the only way left to tell the client
		// that the list is not complete.
		if c.Context().Err() == nil {
			c.LogError("list broken off", err)
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}

// errFirstRow ends a list of which one row is enough.
var errFirstRow = errors.New("the first row is read")

// tryList reads the first row for HEAD, which must not promise a list that GET could
// not give. It takes a slot if that may need to read more.
func tryList(c *request.Call, access *service.Access, opts service.ListOptions) error {
	if opts.Limit == 0 && opts.Sort == nil && opts.Cursor == "" && opts.Filter.IsZero() && !opts.Count {
		opts.Begin, opts.Limit = nil, 1
	} else if err := c.HoldList(); err != nil {
		return err
	}
	err := access.List(c.Context(), opts, func(forms.Submission) error { return errFirstRow })
	if errors.Is(err, errFirstRow) {
		return nil
	}
	return err
}

// newEncoder makes the encoder of the format that a list is sent in.
func newEncoder(asked listRequest, form *forms.Form, model Model, list scan) (encoder, error) {
	switch asked.format {
	case CSV, XLSX:
		return newTable(asked, form, list)
	case NDJSON:
		return &jsonRows{appendRow: model(form), rowEnd: "\n"}, nil
	default:
		return &jsonRows{appendRow: model(form), begin: "[", separator: ",", end: "]"}, nil
	}
}

// beginList sets the headers of a list. It is called when nothing but the list
// can be answered any more.
func beginList(w http.ResponseWriter, c *request.Call, form *forms.Form, asked listRequest, page service.ListPage) {
	h := w.Header()
	if asked.negotiated {
		h.Add("Vary", "Accept")
	}
	if asked.table.Labels || asked.Filter.Search != "" { // which finds labels
		request.SetLanguages(h, form)
	}
	h["Content-Type"] = asked.format.header
	request.SetNoStore(h)
	if asked.format == CSV || asked.format == XLSX {
		now := c.Backend.Service.Now()
		if !asked.table.Labels { // its times are in UTC
			now = now.UTC()
		}
		name := fileName(form, asked.table.Labels) + now.Format("-2006-01-02.") + asked.format.Name
		h.Set("Content-Disposition", request.Attachment(name))
	}
	if asked.Count {
		h.Set("X-Total-Count", strconv.FormatInt(page.Total, 10)) // of all, whatever part of the list is sent
	}
	if next := request.NextPage(c.URL, page); next != "" {
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

// listWriter sends a list in parts.
type listWriter struct {
	w     http.ResponseWriter
	buf   *[]byte
	check func() error // called before each part is sent
	begin func()       // called before the first part is sent
	begun bool
	row   func(forms.Submission) forms.Submission // see ListView
}

// write sends what list visits, as f writes it.
func (s *listWriter) write(f encoder, list scan) (err error) {
	if *s.buf, err = f.Begin(*s.buf); err != nil {
		return err
	}
	err = list(func(sub forms.Submission) (err error) {
		if s.row != nil {
			sub = s.row(sub)
		}
		*s.buf, err = f.Row(*s.buf, sub)
		if err == nil && len(*s.buf) >= FlushBytes {
			err = s.flush()
		}
		return err
	})
	if err != nil {
		return err
	}
	if *s.buf, err = f.End(*s.buf); err != nil {
		return err
	}
	return s.flush()
}

func (s *listWriter) flush() error {
	if err := s.check(); err != nil {
		return err
	}
	if !s.begun {
		s.begin()
		s.begun = true
	}
	_, err := s.w.Write(*s.buf)
	*s.buf = (*s.buf)[:0]
	return err
}

// listRequest is what a request for a list asks for.
type listRequest struct {
	service.ListOptions
	format     *Format
	negotiated bool // the header Accept may have decided the format
	table      table.Options
}

// readListRequest reads the query and the headers of a request for a list. It ignores
// unknown parameters.
func readListRequest(params *request.Params, header http.Header, formats []*Format) (listRequest, error) {
	asked := listRequest{
		ListOptions: params.ListOptions(), format: formats[0], negotiated: len(formats) > 1,
		table: table.Options{
			Labels: params.Flag("labels", false), BOM: params.Flag("bom", false), NoGuard: !params.Flag("guard", true),
		},
	}
	if asked.negotiated {
		asked.format = pickFormat(params, header, formats)
	}
	return asked, params.Err()
}

// scan calls visit for each row of a list.
type scan func(visit func(forms.Submission) error) error

// newTable makes a first pass over the rows of a list, which finds the fields
// that have left the page, and returns the encoder that writes them.
func newTable(asked listRequest, form *forms.Form, list scan) (encoder, error) {
	columns := table.NewColumns(form, asked.table)
	if err := list(columns.Add); err != nil {
		return nil, err
	}
	if asked.format == CSV {
		return table.NewCSV(columns), nil
	}
	return table.NewXLSX(columns), nil
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
