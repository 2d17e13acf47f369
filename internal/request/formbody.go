package request

import (
	"errors"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
)

// MaxFormValues is how many values the forms have that ReadForm reads.
const MaxFormValues = 500

// formOverhead is what the body of a form may have beside its texts: the syntax
// of MaxFormValues values, and contents of small files.
const formOverhead = 64 << 10

// ErrFormTooLarge is what ReadForm returns for more than it reads.
var ErrFormTooLarge = &StatusError{Status: http.StatusRequestEntityTooLarge, Detail: "The form is too large."}

// ReadForm reads the texts of a form as browsers send them, up to maxText bytes.
// The value of a file is its name; its content is discarded. What is too large is
// refused by its Content-Length if it has one, before anything is read.
func (c *Call) ReadForm(w http.ResponseWriter, maxText int64) (url.Values, error) {
	limit := maxText + formOverhead
	if c.ContentLength > limit {
		c.CloseUnread(w)
		return nil, ErrFormTooLarge
	}
	c.Body = http.MaxBytesReader(w, c.Body, limit)
	values, err := c.parseForm(limit)
	if err != nil {
		c.CloseUnread(w)
		return nil, err
	}
	count := 0
	for name, list := range values {
		count += len(list)
		for _, value := range list {
			maxText -= int64(len(name) + len(value))
		}
	}
	if count > MaxFormValues || maxText < 0 {
		return nil, ErrFormTooLarge
	}
	return values, nil
}

// parseForm reads a body of at most limit bytes into memory.
func (c *Call) parseForm(limit int64) (url.Values, error) {
	err := c.ParseForm()
	if err == nil && IsMultipart(c.Header) {
		err = c.ParseMultipartForm(limit)
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge), errors.Is(err, multipart.ErrMessageTooLarge):
		return nil, ErrFormTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, c.ReadError(err)
	case err != nil:
		return nil, wholeFault("the body is not a valid form")
	}
	if c.MultipartForm != nil {
		for name, files := range c.MultipartForm.File {
			for _, file := range files {
				c.PostForm.Add(name, file.Filename)
			}
		}
	}
	return c.PostForm, nil
}
