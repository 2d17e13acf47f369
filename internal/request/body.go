package request

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// What a body may hold, far above what any form asks for. The memory that a
// body takes once it is decoded is bounded by these rather than by its length.
const (
	MaxNames  = 5_000  // fields, or parts
	MaxValues = 10_000 // of all lists together
)

// CheckEncoding refuses a body that is compressed.
func CheckEncoding(h http.Header) error {
	compressed := func(e string) bool { return e != "" && !strings.EqualFold(e, "identity") }
	if slices.ContainsFunc(h["Content-Encoding"], compressed) {
		return &StatusError{
			http.StatusUnsupportedMediaType, forms.English("A body must not be compressed: send it without Content-Encoding."),
		}
	}
	return nil
}

// ReadBody reads the body into buf, up to MaxBody. A large one takes a slot as
// soon as that is known: by its length, or when a body without one has outgrown
// a small one.
func (c *Call) ReadBody(w http.ResponseWriter, buf *bytes.Buffer) error {
	if c.ContentLength > c.Backend.MaxBody {
		c.CloseUnread(w)
		return c.tooLarge()
	}
	if err := c.readBody(w, buf); err != nil {
		return c.ReadError(err)
	}
	return nil
}

func (c *Call) readBody(w http.ResponseWriter, buf *bytes.Buffer) error {
	body, length := io.Reader(c.Body), c.ContentLength // net/http reads no more than a length that is known
	if length <= 0 {
		body = http.MaxBytesReader(w, c.Body, c.Backend.MaxBody)
		_, err := buf.ReadFrom(io.LimitReader(body, LargeBody+1))
		if length = int64(buf.Len()); err != nil || length <= LargeBody {
			return err
		}
	}
	if length > LargeBody {
		if err := c.HoldBody(); err != nil {
			c.CloseUnread(w)
			return err
		}
	}
	buf.Grow(int(length) - buf.Len() + bytes.MinRead) // for all of it, so that it is not grown step by step
	_, err := buf.ReadFrom(body)
	return err
}

// CloseUnread ends the connection after the answer to a request whose body was
// not read. Otherwise net/http would wait for the rest of it. See End.
func (c *Call) CloseUnread(w http.ResponseWriter) {
	if c.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
		c.unread = w
	}
}

// How much of a refused body is read, and for how long.
const (
	drainBytes = 32 << 20
	drainTime  = 5 * time.Second
)

// drain reads on after the answer to a request that was refused: many clients
// read the answer only when they have sent the whole body. A client that waits for
// "100 Continue" reads the answer first.
func (c *Call) drain() {
	control := http.NewResponseController(c.unread)
	if c.Header.Get("Expect") != "" || control.Flush() != nil {
		return
	}
	_ = control.SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, c.Body, drainBytes)
}

func (c *Call) tooLarge() error {
	return errNoRoom(forms.SayN("The body is larger than {0} byte.",
		"The body is larger than {0} bytes.", int(c.Backend.MaxBody)))
}

// ReadError is what a client is told about an error of reading its body.
func (c *Call) ReadError(err error) error {
	var tooLarge *http.MaxBytesError
	var refused *StatusError
	switch {
	case errors.As(err, &refused):
		return err
	case errors.As(err, &tooLarge):
		return c.tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &StatusError{http.StatusRequestTimeout, forms.Say("The body did not arrive in time.")}
	default:
		return forms.InvalidRequest(forms.Say("the body did not arrive in full"))
	}
}
