package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/formulary/formulary/internal/export"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/httpx"
	"github.com/formulary/formulary/internal/service"
)

// flushBytes is how much of a list is gathered before it is sent.
const flushBytes = 128 << 10

// listModel is one of the two lists.
type listModel struct {
	rows    func(*forms.Form) appender
	formats []*formatKind
}

// stream writes a list of submissions as it is read, so that neither side ever
// holds all of it.
func (a *API) stream(w http.ResponseWriter, c *call, access *service.Access, model listModel) error {
	asked, err := readListRequest(c.Request, model.formats)
	if err != nil {
		return err
	}
	begin := func() { a.beginList(w, access.Form, asked.format) }
	if c.Method == http.MethodHead {
		if err := tryList(c, access, asked.ListOptions); err != nil {
			return err
		}
		begin()
		return nil
	}
	if err := c.hold(a.limiters.lists); err != nil {
		return err
	}
	s := listWriter{w: w, buf: getBuffer(), begin: begin, may: func() error { return a.mayStillList(w, c, access) }}
	defer putBuffer(s.buf)
	list := func(visit func(forms.Submission) error) error {
		return access.List(c.Context(), asked.ListOptions, visit)
	}
	f, err := newFormat(asked, access.Form, model, list, s.may)
	if err == nil {
		err = explainTable(s.write(f, list))
	}
	if err != nil && !s.begun {
		return err // nothing has been sent: the error can still be answered
	}
	if err != nil {
		// Breaking off the connection is the only way left to tell the client
		// that the list is not complete.
		if c.Context().Err() == nil {
			a.logError(w, c.Request, "list broken off", err)
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}

// newFormat makes the format that a list is sent in.
func newFormat(asked listRequest, form *forms.Form, model listModel, list scan, may func() error) (format, error) {
	switch asked.format {
	case formatCSV, formatXLSX:
		return newTable(asked, form, list, may)
	case formatNDJSON:
		return &ndjson{appendRow: model.rows(form)}, nil
	default:
		return &jsonArray{appendRow: model.rows(form)}, nil
	}
}

// beginList sets the headers of a list. It is called when nothing but the list
// can be answered any more.
func (a *API) beginList(w http.ResponseWriter, form *forms.Form, kind *formatKind) {
	h := w.Header()
	h.Add("Vary", "Accept")
	h["Content-Type"] = kind.header
	h["Cache-Control"] = noStore
	if kind == formatCSV || kind == formatXLSX {
		h.Set("Content-Disposition", attachment(form, a.Service.Now(), kind.name))
	}
}

// mayStillList returns an error if the caller may no longer read the list that
// is being sent. A slow reader must not get what was submitted after their
// access was taken away.
func (a *API) mayStillList(w http.ResponseWriter, c *call, access *service.Access) error {
	now, err := a.reopen(w, c)
	if err != nil {
		return fmt.Errorf("open the form again: %w", err)
	}
	if !now.Covers(access) {
		return &service.Error{Kind: service.Unavailable, Detail: "Who may see this list has just changed. Ask again."}
	}
	return nil
}

// tryList is for HEAD, which must not promise a list that GET could not give.
// One row tells.
func tryList(c *call, access *service.Access, opts service.ListOptions) error {
	opts.Limit = 1
	return access.List(c.Context(), opts, func(forms.Submission) error { return nil })
}

// listWriter sends a list in parts.
type listWriter struct {
	w     http.ResponseWriter
	buf   *[]byte
	may   func() error // asked before each part is sent
	begin func()       // called before the first part is sent
	begun bool
}

// write sends what list visits in the given format.
func (s *listWriter) write(f format, list scan) (err error) {
	if *s.buf, err = f.Begin(*s.buf); err != nil {
		return err
	}
	err = list(func(sub forms.Submission) (err error) {
		*s.buf, err = f.Row(*s.buf, sub)
		if err == nil && len(*s.buf) >= flushBytes {
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
	if err := s.may(); err != nil {
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

// maxLimit bounds a page of a list. Without a limit all of it is sent.
const maxLimit = 1_000_000

// listRequest is what a request for a list asks for.
type listRequest struct {
	service.ListOptions
	format *formatKind
	table  export.Options
}

// listParameters are the opt-in query parameters of a list.
var listParameters = []string{"limit", "after", "order", "username", "format", "labels", "bom", "guard"}

// readListRequest reads the query and the headers of a request for a list that
// can be had in the given formats. It ignores unknown parameters.
func readListRequest(r *http.Request, formats []*formatKind) (listRequest, error) {
	var invalid forms.Invalid
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		invalid.AddError("the query of the URL can't be read: use %-escapes for special characters")
	}
	for _, name := range listParameters {
		if len(query[name]) > 1 {
			invalid.AddError(name + " must not be given twice")
		}
	}
	asked := listRequest{
		ListOptions: listOptions(query, &invalid),
		format:      pickFormat(query, r.Header, formats, &invalid),
		table:       tableOptions(query, &invalid),
	}
	return asked, invalid.Err()
}

func listOptions(query url.Values, invalid *forms.Invalid) service.ListOptions {
	var opts service.ListOptions
	if v := query.Get("limit"); query.Has("limit") {
		n, ok := httpx.ParseID(v)
		if !ok || n > maxLimit {
			invalid.AddError(fmt.Sprintf("limit must be a number from 1 to %d", maxLimit))
		}
		opts.Limit = int(n)
	}
	if v := query.Get("after"); query.Has("after") {
		id, ok := httpx.ParseID(v)
		if !ok && v != "0" {
			invalid.AddError("after must be the id of a submission")
		}
		opts.After = id
	}
	switch v := query.Get("order"); {
	case v == "desc":
		opts.Descending = true
	case v != "asc" && query.Has("order"):
		invalid.AddError("order must be asc or desc")
	}
	if v := query.Get("username"); query.Has("username") {
		// Not every engine can be asked for what it could never hold.
		if !utf8.ValidString(v) || strings.Contains(v, "\x00") {
			invalid.AddError("username must be text in UTF-8")
		}
		opts.Username = &v
	}
	return opts
}
