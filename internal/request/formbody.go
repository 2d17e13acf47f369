package request

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// MaxFormValues is how many values the forms have that ReadForm reads.
const MaxFormValues = 500

// formOverhead is what the body of a form may have beside its texts: the syntax
// of MaxFormValues values, and contents of small files.
const formOverhead = 64 << 10

// ReadForm reads the texts of a form as browsers send them, up to maxText bytes; for
// more it returns tooLarge. The value of a file is its name; its content is discarded.
// What is too large is refused by its Content-Length if it has one, before anything is
// read.
func (c *Call) ReadForm(w http.ResponseWriter, maxText int64, tooLarge *StatusError) (url.Values, error) {
	limit := maxText + formOverhead
	if c.ContentLength > limit {
		c.CloseUnread(w)
		return nil, tooLarge
	}
	body := &meteredReader{r: c.Body, left: limit, over: tooLarge}
	read := c.readQuery
	if IsMultipart(c.Header) {
		read = c.readParts
	}
	values, err := read(body, maxText)
	if err != nil {
		c.CloseUnread(w)
	}
	return values, err
}

// readQuery reads a body of application/x-www-form-urlencoded.
func (c *Call) readQuery(body *meteredReader, maxText int64) (url.Values, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, c.ReadError(err)
	}
	if strings.Count(string(text), "&") >= MaxFormValues {
		return nil, body.over
	}
	values, err := url.ParseQuery(string(text))
	if err != nil {
		return nil, forms.InvalidRequest("the body is not valid application/x-www-form-urlencoded")
	}
	for name, list := range values {
		for _, value := range list {
			maxText -= int64(len(name) + len(value))
		}
	}
	if maxText < 0 {
		return nil, body.over
	}
	return values, nil
}

// readParts reads a body of multipart/form-data.
func (c *Call) readParts(body *meteredReader, maxText int64) (url.Values, error) {
	parts, err := newPartReader(c.Header, body)
	if err != nil {
		return nil, err
	}
	values := url.Values{}
	err = parts.readAll(func(part formPart) error {
		if parts.count > MaxFormValues {
			return body.over
		}
		parts.allow(maxText+formOverhead, body.over)
		value, err := readPart(part)
		if err != nil {
			return err
		}
		if maxText -= int64(len(part.name) + len(value)); maxText < 0 {
			return body.over
		}
		if !part.isFile || value != "" { // a browser sends a question without a file as a file without a name
			values.Add(part.name, value)
		}
		return nil
	})
	if err != nil {
		return nil, parts.explain(c, err)
	}
	return values, nil
}

// readPart returns a text, or the name of a file.
func readPart(p formPart) (string, error) {
	if p.isFile {
		_, err := io.Copy(io.Discard, p)
		return p.fileName, err
	}
	text, err := io.ReadAll(p)
	return string(text), err
}
