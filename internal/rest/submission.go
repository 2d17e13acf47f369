package rest

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

var submissionFormats = []*encode.Format{encode.JSON, encode.NDJSON}

// oneSubmission is for a row by itself, where encode.Nested does not pay.
func oneSubmission(dst []byte, _ *forms.Form, s forms.Submission) ([]byte, error) {
	return encode.AppendSubmission(dst, s)
}

func (a *API) listSubmissions(w http.ResponseWriter, c *request.Call) error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	return encode.SendList(w, c, access, encode.Nested, submissionFormats...)
}

func (a *API) getSubmission(w http.ResponseWriter, c *request.Call) error {
	return a.getOne(w, c, oneSubmission)
}

func (a *API) createSubmission(w http.ResponseWriter, c *request.Call) error {
	before, err := c.Form()
	if err != nil {
		return err
	}
	only, err := validateOnly(c.URL.RawQuery)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(c.Header)
	if err != nil {
		return err
	}
	answers, err := receive(w, c, before, nested)
	if err != nil {
		return err
	}
	access, err := c.Reopen()
	if err != nil {
		before.DropFiles(c.Context(), service.StagedFiles(answers))
		return err
	}
	if only {
		if err := access.ValidateNew(c.Context(), answers); err != nil {
			return err
		}
		writeValid(w)
		return nil
	}
	sub, replayed, err := access.Create(c.Context(), answers, key)
	if err != nil {
		return err
	}
	if replayed {
		// The body may be short where the submission has grown since.
		if err := c.HoldAnswer(len(sub.Entries)); err != nil {
			return err
		}
		w.Header().Set("Idempotency-Replayed", "true")
	}
	w.Header().Set("Location", c.URL.EscapedPath()+"/"+strconv.FormatInt(sub.ID, 10))
	return encode.WriteOne(w, http.StatusCreated, access.Tag(sub), oneSubmission, access.Form, sub)
}

// receive reads the answers out of the body of a request, which may hold files
// in the nested model.
func receive(w http.ResponseWriter, c *request.Call, access *service.Access, d decoder) ([]forms.Answer, error) {
	if d.multipart && request.IsMultipart(c.Header) {
		return request.DecodeMultipart(w, c, access, nil)
	}
	return decode(w, c, access.Form, d)
}

// getFile answers with the content of a file.
func (a *API) getFile(w http.ResponseWriter, c *request.Call) error { return c.SendFile(w) }

func (a *API) updateSubmission(w http.ResponseWriter, c *request.Call) error {
	return a.updateOne(w, c, nested, oneSubmission)
}

// getOne answers with one submission in the given model.
func (a *API) getOne(w http.ResponseWriter, c *request.Call, model encode.AppendOne) error {
	access, id, err := c.Submission()
	if err != nil {
		return err
	}
	sub, err := access.Get(c.Context(), id)
	if err != nil {
		return err
	}
	tag := access.Tag(sub)
	switch err := conditionsOf(c.Request).check(tag); {
	case errors.Is(err, errNotModified):
		writeNotModified(w, tag)
		return nil
	case err != nil:
		return err
	}
	if err := c.HoldAnswer(len(sub.Entries)); err != nil {
		return err
	}
	return encode.WriteOne(w, http.StatusOK, tag, model, access.Form, sub)
}

// updateOne merges a body of either model into a submission.
func (a *API) updateOne(w http.ResponseWriter, c *request.Call, d decoder, model encode.AppendOne) error {
	before, id, err := c.Submission()
	if err != nil {
		return err
	}
	only, bad := validateOnly(c.URL.RawQuery)
	pre := conditionsOf(c.Request).precondition()
	if d.multipart && request.IsMultipart(c.Header) { // don't take files that nobody may change
		if err := before.MayMerge(c.Context(), id, pre); err != nil {
			c.CloseUnread(w)
			return err
		}
	}
	var answers []forms.Answer
	if bad == nil {
		answers, bad = receive(w, c, before, d)
	}
	access, err := c.Reopen()
	if err != nil {
		before.DropFiles(c.Context(), service.StagedFiles(answers))
		return err
	}
	switch {
	case bad != nil:
		return refuseMerge(c, access, id, pre, bad)
	case only:
		if err := access.ValidateMerge(c.Context(), id, answers, pre); err != nil {
			return err
		}
		writeValid(w)
		return nil
	}
	// The answer holds all of the submission, which may be large where the body
	// is not: without a slot for it nothing is changed.
	sub, err := access.Merge(c.Context(), id, answers, pre, func(size int) error { return c.HoldAnswer(size) })
	if err != nil {
		return err
	}
	return encode.WriteOne(w, http.StatusOK, access.Tag(sub), model, access.Form, sub)
}

// refuseMerge returns what a caller is told whose body can't be read. First,
// whether they may change the submission at all. Then, whether it is in the
// state that the request's header asks for, unless the body would not even have
// been looked into: RFC 9110, section 13.2.1.
func refuseMerge(c *request.Call, access *service.Access, id int64, pre service.Precondition, bad error) error {
	var invalid *forms.Invalid
	if !errors.As(bad, &invalid) {
		pre = nil
	}
	return cmp.Or(access.MayMerge(c.Context(), id, pre), bad)
}
