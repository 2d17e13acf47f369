package rest

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/problem"
	"github.com/formulary/formulary/internal/request"
)

// send answers with a body of JSON that can be large.
func send(w http.ResponseWriter, c *request.Call, body []byte) error {
	if err := c.HoldAnswer(len(body)); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, body)
	return nil
}

// fail answers an error.
func fail(w http.ResponseWriter, c *request.Call, err error) {
	c.NoteRefusal(err)
	if invalid, ok := errors.AsType[*forms.Invalid](err); ok {
		writeJSON(w, http.StatusBadRequest, encode.Invalid(invalid)) // the interface's validation result
		return
	}
	failure := request.FailureOf(c.Context(), err)
	if failure.Log {
		c.LogError("request failed", err)
	}
	failure.SetHeader(w.Header())
	problem.Write(w, failure.Status, failure.Detail.String())
}

// countedBody is the size up to which net/http finds out the length by itself.
const countedBody = 2000

// writeJSON answers with a body of JSON.
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	setJSON(h)
	if len(body) > countedBody {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone can't be told
}

func setJSON(h http.Header) {
	h["Content-Type"] = encode.JSON.ContentType
	request.SetNoStore(h)
}

// setTag sets the ETag. It is a strong one: an answer with one submission has
// one representation, and is never compressed.
func setTag(w http.ResponseWriter, tag string) {
	w.Header()["Etag"] = []string{tag} // the name as net/http spells it
}

// setState is setTag, and tells when the submission was changed last.
func setState(w http.ResponseWriter, tag string, s forms.Submission) {
	values := []string{tag, s.Changed.UTC().Format(http.TimeFormat)}
	w.Header()["Etag"], w.Header()["Last-Modified"] = values[:1:1], values[1:]
}

// writeOne answers with a submission by itself.
func writeOne(w http.ResponseWriter, status int, model encode.Model, form *forms.Form, s forms.Submission) error {
	buf := encode.GetBuffer()
	defer encode.PutBuffer(buf)
	var err error
	if *buf, err = model(form)(*buf, s); err != nil {
		return err
	}
	writeJSON(w, status, *buf)
	return nil
}
