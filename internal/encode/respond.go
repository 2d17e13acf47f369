package encode

import (
	"net/http"
	"strconv"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
)

// JSONType is the media type of JSON.
const JSONType = "application/json"

// jsonTypes is shared by all responses. Do not modify it.
var jsonTypes = []string{JSONType}

// countedBody is the size up to which net/http finds out the length by itself.
const countedBody = 2000

// WriteJSON answers with a body of JSON.
func WriteJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	setJSON(h)
	if len(body) > countedBody {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone can't be told
}

func setJSON(h http.Header) {
	h["Content-Type"] = jsonTypes
	request.SetNoStore(h)
}

// SetTag sets the ETag. It is a strong one: an answer with one submission has
// one representation, and is never compressed.
func SetTag(w http.ResponseWriter, tag string) {
	w.Header()["Etag"] = []string{tag} // the name as net/http spells it
}

// SetState is SetTag, and tells when the submission was changed last.
func SetState(w http.ResponseWriter, tag string, s forms.Submission) {
	values := []string{tag, s.Changed.UTC().Format(http.TimeFormat)}
	w.Header()["Etag"], w.Header()["Last-Modified"] = values[:1:1], values[1:]
}

// WriteOne answers with a submission by itself.
func WriteOne(w http.ResponseWriter, status int, model Model, form *forms.Form, s forms.Submission) error {
	buf := getBuffer()
	defer putBuffer(buf)
	var err error
	if *buf, err = model(form)(*buf, s); err != nil {
		return err
	}
	WriteJSON(w, status, *buf)
	return nil
}
