package server

import (
	"io"
	"net/http"
	"time"
)

// progressStep is how much a client must read within the write timeout to be
// granted another one.
const progressStep = 128 << 10

// recorder is the one ResponseWriter of the chain. It records what the access
// log and the metrics need, and moves the write deadline while the client reads.
//
// http.Server's WriteTimeout counts from the request's header to the end of
// the response, and would cut off every download that takes longer. So the
// deadline is set anew after each progressStep. requestBody does the same for
// the read deadline.
type recorder struct {
	w       http.ResponseWriter
	start   time.Time
	write   time.Duration
	id      [1]string // an array, so that the header can refer to it
	user    string
	bytes   int64
	pending int       // bytes since the write deadline was set
	moved   time.Time // when the write deadline was set
	status  int       // 0 until the header is sent
	readEnd time.Time // when the body must have arrived; zero for no such time

	foreignID bool // the request id came from outside
	anonymous bool
	own       bool // one of the server's own endpoints
	head      bool
	failed    bool // panicked
}

// Unwrap is for http.ResponseController.
func (rec *recorder) Unwrap() http.ResponseWriter { return rec.w }

func (rec *recorder) Header() http.Header { return rec.w.Header() }

// SetUser adds the authenticated user to the line of the access log, or removes it if
// the name is "". Of SetUser and Anonymous the last call counts. Without one, the log
// has the client's address and no user.
func (rec *recorder) SetUser(name string) { rec.user, rec.anonymous = name, false }

// Anonymous keeps everything that may identify the user out of the log: name,
// address, and a request id that came from outside.
func (rec *recorder) Anonymous() { rec.anonymous = true }

// Working grants the client another write timeout, for a handler that reads much
// before it has something to send. It is called often, so it does not move the
// deadline each time.
func (rec *recorder) Working() {
	if time.Since(rec.moved) > rec.write/4 {
		rec.extend()
	}
}

func (rec *recorder) WriteHeader(status int) {
	// First, because it panics on an impossible status, and then nothing is sent.
	rec.w.WriteHeader(status)
	if status >= 200 {
		rec.sent(status)
	}
}

func (rec *recorder) sent(status int) {
	if rec.status == 0 {
		rec.status = status
	}
}

// Write passes on pieces of at most progressStep, since progress within a write
// can't be measured.
func (rec *recorder) Write(p []byte) (int, error) {
	rec.sent(http.StatusOK)
	written := 0
	for {
		piece := p[written:min(len(p), written+progressStep)]
		n, err := rec.w.Write(piece)
		written += n
		if !rec.head { // net/http discards the body of a HEAD response
			rec.bytes += int64(n)
			rec.pending += n
		}
		if rec.pending >= progressStep {
			rec.extend()
		}
		if err != nil || written >= len(p) {
			return written, err
		}
	}
}

// extend grants the client another write timeout. Errors are ignored: a
// ResponseWriter without deadlines needs none, and a broken connection fails
// the next write.
func (rec *recorder) extend() {
	rec.pending, rec.moved = 0, time.Now()
	_ = http.NewResponseController(rec.w).SetWriteDeadline(rec.moved.Add(rec.write))
}

// SetReadDeadline is what http.ResponseController calls. It bounds the time for the whole
// body, however much of it arrives: see requestBody.
func (rec *recorder) SetReadDeadline(end time.Time) error {
	rec.readEnd = end
	return http.NewResponseController(rec.w).SetReadDeadline(end)
}

// Flush is for code that asks for an http.Flusher.
func (rec *recorder) Flush() { _ = rec.FlushError() }

// FlushError is what http.ResponseController calls. A flush counts as progress, so a
// stream of small events may last as long as its client.
func (rec *recorder) FlushError() error {
	if err := http.NewResponseController(rec.w).Flush(); err != nil {
		return err
	}
	rec.sent(http.StatusOK)
	if rec.pending > 0 {
		rec.extend()
	}
	return nil
}

// finalStatus is the status in log and metrics. A panic is a 500 even if another
// status was sent.
func (rec *recorder) finalStatus() int {
	switch {
	case rec.failed:
		return http.StatusInternalServerError
	case rec.status == 0:
		return http.StatusOK
	}
	return rec.status
}

// RequestID is the request id as the access log has it: "" if it may identify an
// anonymous user. A client can put a name into it, and a proxy logs it next to the
// address.
func (rec *recorder) RequestID() string {
	if rec.anonymous && rec.foreignID {
		return ""
	}
	return rec.id[0]
}

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

// extend grants the client another read timeout, up to the handler's own deadline, and a
// write timeout after it for the response. Errors are ignored: a ResponseWriter without deadlines
// needs none, and a broken connection fails the next read.
func (b *requestBody) extend() {
	b.pending = 0
	next := time.Now().Add(b.timeout)
	if end := b.rec.readEnd; !end.IsZero() && end.Before(next) {
		next = end
	}
	control := http.NewResponseController(b.rec.w)
	_ = control.SetReadDeadline(next)
	_ = control.SetWriteDeadline(next.Add(b.rec.write))
}
