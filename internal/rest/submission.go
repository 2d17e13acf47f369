package rest

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// list answers with a list in the given model, in one of the formats.
func list(model encode.Model, formats ...*encode.Format) handler {
	return func(w http.ResponseWriter, c *request.Call) error {
		access, err := c.Form()
		if err != nil {
			return err
		}
		view := request.ListView{Params: request.ReadParams(c.URL.RawQuery), Follow: true}
		return c.SendList(w, access, view, model, formats...)
	}
}

func createSubmission(w http.ResponseWriter, c *request.Call) error {
	before, err := c.Form()
	if err != nil {
		return err
	}
	key, err := idempotencyKey(c.Header)
	if err != nil {
		return err
	}
	in, err := readWrite(w, c, before, nested)
	if err != nil {
		return err
	}
	if in.validateOnly {
		return answerValid(w, in.access.ValidateNew(c.Context(), in.answers, key))
	}
	sub, replayed, err := in.access.Create(c.Context(), in.answers, key)
	if err != nil {
		return err
	}
	model := encode.Created
	if replayed {
		model = encode.Nested
		// The body may be short where the submission has grown since.
		if err := c.HoldAnswer(len(sub.Entries)); err != nil {
			return err
		}
		w.Header().Set("Idempotency-Replayed", "true")
	}
	w.Header()["Location"] = []string{c.URL.EscapedPath() + "/" + strconv.FormatInt(sub.ID, 10)}
	setTag(w, in.access.Tag(sub))
	return writeOne(w, http.StatusCreated, model, in.access.Form, sub)
}

// write is what a request to create or to change a submission says.
type write struct {
	access       *service.Access // of the form, opened when the body was there
	answers      []forms.Answer
	validateOnly bool
}

// readWrite reads the query and the body of a write. In the nested model a body
// may hold files. The access is nil only if the form can't be opened any more.
func readWrite(w http.ResponseWriter, c *request.Call, before *service.Access, d decoder) (in write, err error) {
	in.access, in.answers, err = c.Receive(before, func(access *service.Access) (answers []forms.Answer, err error) {
		if in.validateOnly, err = validateOnly(c.URL.RawQuery); err != nil {
			return nil, err
		}
		if d.nested && request.IsMultipart(c.Header) {
			return request.DecodeMultipart(w, c, access, nil)
		}
		return decode(w, c, access.Form, d)
	})
	return in, err
}

// getFile answers with the content of a file.
func getFile(w http.ResponseWriter, c *request.Call) error { return c.SendFile(w) }

// getOne answers with one submission in the given model.
func getOne(model encode.Model) handler {
	return func(w http.ResponseWriter, c *request.Call) error {
		access, sub, err := c.Stored()
		if err != nil {
			return err
		}
		tag := access.Tag(sub)
		switch err := checkTag(c.Request, tag); {
		case errors.Is(err, errNotModified):
			setState(w, tag, sub)
			request.SetNoStore(w.Header())
			w.WriteHeader(http.StatusNotModified)
			return nil
		case err != nil:
			return err
		}
		if err := c.HoldAnswer(len(sub.Entries)); err != nil {
			return err
		}
		setState(w, tag, sub)
		return writeOne(w, http.StatusOK, model, access.Form, sub)
	}
}

// updateOne merges a body of either model into a submission.
func updateOne(d decoder, model encode.Model) handler {
	return func(w http.ResponseWriter, c *request.Call) error {
		before, id, err := c.Submission()
		if err != nil {
			return err
		}
		pre := precondition(c.Request)
		if d.nested && request.IsMultipart(c.Header) { // refuse files before they are sent
			if err := before.MayMerge(c.Context(), id, pre); err != nil {
				c.CloseUnread(w)
				return err
			}
		}
		in, err := readWrite(w, c, before, d)
		switch {
		case in.access == nil:
			return err
		case err != nil:
			return refuseMerge(c, in.access, id, pre, err)
		case in.validateOnly:
			return answerValid(w, in.access.ValidateMerge(c.Context(), id, in.answers, pre))
		}
		// The answer holds all of the submission, which may be large where the body
		// is not: without a slot for it nothing is changed.
		sub, err := in.access.Merge(c.Context(), id, in.answers, pre, c.HoldAnswer)
		if err != nil {
			return err
		}
		setTag(w, in.access.Tag(sub))
		return writeOne(w, http.StatusOK, model, in.access.Form, sub)
	}
}

// refuseMerge returns what a caller is told whose body can't be read. First,
// whether they may change the submission at all. Then, whether it is in the
// state that the request's header asks for, unless the body would not even have
// been looked into: RFC 9110, section 13.2.1. A lock counts before faults of
// answers, but not before a body that is no JSON.
func refuseMerge(c *request.Call, access *service.Access, id int64, pre service.Precondition, bad error) error {
	_, invalid := errors.AsType[*forms.Invalid](bad)
	if !invalid {
		pre = nil
	}
	err := access.MayMerge(c.Context(), id, pre)
	if err == nil || errors.Is(err, service.ErrLocked) && invalid && !errors.Is(bad, errAnswers) {
		return bad
	}
	return err
}
