package server

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// deadlineWriter records the sizes of writes and how often the deadline moved.
type deadlineWriter struct {
	*httptest.ResponseRecorder
	pieces    []int
	deadlines int
	failAfter int // pieces; 0 never
}

var errGone = errors.New("gone")

func (w *deadlineWriter) Write(p []byte) (int, error) {
	if w.failAfter > 0 && len(w.pieces) == w.failAfter {
		return 0, errGone
	}
	w.pieces = append(w.pieces, len(p))
	return w.ResponseRecorder.Write(p)
}

func (w *deadlineWriter) SetWriteDeadline(time.Time) error {
	w.deadlines++
	return nil
}

func TestRecorderSplitsLargeWrites(t *testing.T) {
	const size = 400_000
	w := &deadlineWriter{ResponseRecorder: httptest.NewRecorder()}
	rec := &recorder{w: w, write: time.Minute}
	n, err := rec.Write(make([]byte, size))
	if n != size || err != nil || rec.bytes != size || w.Body.Len() != size {
		t.Errorf("wrote %d, %v; counted %d, arrived %d", n, err, rec.bytes, w.Body.Len())
	}
	if slices.Max(w.pieces) > progressStep || w.deadlines != size/progressStep {
		t.Errorf("pieces of %v bytes; deadline moved %d times", w.pieces, w.deadlines)
	}

	rec.w = &deadlineWriter{ResponseRecorder: httptest.NewRecorder(), failAfter: 2}
	if n, err := rec.Write(make([]byte, size)); n != 2*progressStep || !errors.Is(err, errGone) {
		t.Errorf("wrote %d, %v to a client that went away", n, err)
	}
}

func TestRecorderMovesTheDeadlineOnFlush(t *testing.T) {
	w := &deadlineWriter{ResponseRecorder: httptest.NewRecorder()}
	rec := &recorder{w: w, write: time.Minute}
	rec.Flush()
	if w.deadlines != 0 || rec.status != 200 || !w.Flushed {
		t.Errorf("empty flush: %d deadlines, status %d, flushed %v", w.deadlines, rec.status, w.Flushed)
	}
	_, _ = rec.Write([]byte("x"))
	if err := http.NewResponseController(rec).Flush(); err != nil || w.deadlines != 1 {
		t.Errorf("flush: %v, %d deadlines", err, w.deadlines)
	}
}

func TestRecorderStatusAndBytes(t *testing.T) {
	for _, test := range []struct {
		name    string
		method  string
		handler func(http.ResponseWriter)
		status  int
		bytes   int64
	}{
		{"nothing", "GET", func(http.ResponseWriter) {}, 200, 0},
		{"implicit", "GET", func(w http.ResponseWriter) { _, _ = w.Write([]byte("abc")) }, 200, 3},
		{"explicit", "GET", func(w http.ResponseWriter) { w.WriteHeader(404) }, 404, 0},
		{"first counts", "GET", func(w http.ResponseWriter) { w.WriteHeader(404); w.WriteHeader(200) }, 404, 0},
		{"early hints", "GET", func(w http.ResponseWriter) { w.WriteHeader(103); w.WriteHeader(404) }, 404, 0},
		{"head", "HEAD", func(w http.ResponseWriter) { _, _ = w.Write([]byte("abc")) }, 200, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := &recorder{w: httptest.NewRecorder(), head: test.method == "HEAD"}
			test.handler(rec)
			if rec.finalStatus() != test.status || rec.bytes != test.bytes {
				t.Errorf("status %d, bytes %d", rec.finalStatus(), rec.bytes)
			}
		})
	}
}
