package server

import (
	"io"
	"net/http"
	"time"
)

// readStep is how much of a body a client must send within the read timeout to
// be granted another read timeout.
const readStep = 16 << 10

// requestBody moves the read deadline while the client sends a body, as the
// recorder moves the write deadline while the client reads the response.
//
// http.Server's ReadTimeout is the deadline for the first readStep. It would
// cut off every body that takes longer, even if data arrive steadily. It also
// stays in force for bodies that the handler does not read.
type requestBody struct {
	io.ReadCloser
	rec     *recorder
	timeout time.Duration
	pending int       // bytes since the read deadline was set
	last    time.Time // when the last read returned; zero before the first
}

// smallBody is the size of net/http's read buffer. A handler gets a body that
// fits it with one read, so http.Server's ReadTimeout is deadline enough.
const smallBody = 4 << 10

// withDeadlines returns r with a body that moves the deadlines. It returns a
// copy, because net/http looks at the type of the original body when it
// decides what to do with the part that was not read.
func withDeadlines(r *http.Request, rec *recorder, timeout time.Duration) *http.Request {
	if r.Body == nil || 0 <= r.ContentLength && r.ContentLength <= smallBody {
		return r
	}
	r = r.WithContext(r.Context())
	r.Body = &requestBody{ReadCloser: r.Body, rec: rec, timeout: timeout}
	return r
}

// Read implements io.Reader. The time between two reads does not count: a
// handler that stores what it has read may have to wait for the disk, which is
// not the client's fault.
func (b *requestBody) Read(p []byte) (int, error) {
	if !b.last.IsZero() && time.Since(b.last) > b.timeout/4 {
		b.extend()
	}
	n, err := b.ReadCloser.Read(p)
	b.last = time.Now()
	b.pending += n
	// After the end of the body, net/http waits for the client to disconnect,
	// which must not have a deadline.
	if err == nil && b.pending >= readStep {
		b.extend()
	}
	return n, err
}

// extend grants the client another read timeout, and a write timeout after it
// for the response. Errors are ignored: a ResponseWriter without deadlines
// needs none, and a broken connection fails the next read.
func (b *requestBody) extend() {
	b.pending = 0
	next := time.Now().Add(b.timeout)
	control := http.NewResponseController(b.rec.w)
	_ = control.SetReadDeadline(next)
	_ = control.SetWriteDeadline(next.Add(b.rec.write))
}
