package server

import (
	"fmt"
	"io"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// logDelay is how long a line may wait to be written together with others. A
	// process that is killed loses the lines of this time.
	logDelay = 10 * time.Millisecond
	// maxLogBuffer bounds the buffered lines, in bytes.
	maxLogBuffer = 1 << 20
	// logCloseTimeout is how long Close waits for the last write.
	logCloseTimeout = 500 * time.Millisecond
)

// LogBuffer is a bounded buffer in front of a file or pipe that may be slow.
// One goroutine writes to the file, so that logging never blocks a request or
// the shutdown. Lines that do not fit into the buffer are dropped and counted.
type LogBuffer struct {
	w     io.Writer
	lost  func(lines int)
	wake  chan struct{} // there is something to write, or to close
	ended chan struct{} // the goroutine has ended

	mu      sync.Mutex
	pending []byte // lines to be written
	dropped int    // lines not reported yet
	closing bool
}

// NewLogBuffer returns a buffer that writes to w until it is closed. When w
// accepts data again after lines were dropped, lost is called with their
// number. It may log to this buffer.
func NewLogBuffer(w io.Writer, lost func(lines int)) *LogBuffer {
	b := &LogBuffer{w: w, lost: lost, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go b.run()
	return b
}

// Write buffers a line. It never fails.
func (b *LogBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	if b.closing || len(b.pending)+len(line) > maxLogBuffer {
		b.dropped++
	} else {
		b.pending = append(b.pending, line...)
	}
	b.mu.Unlock()
	b.wakeWriter()
	return len(line), nil
}

func (b *LogBuffer) wakeWriter() {
	select {
	case b.wake <- struct{}{}:
	default: // it is about to take all lines anyway
	}
}

// Close writes the pending lines. It returns when they are written, or after
// logCloseTimeout. Lines that come later are dropped.
func (b *LogBuffer) Close() {
	b.mu.Lock()
	b.closing = true
	b.mu.Unlock()
	b.wakeWriter()
	select {
	case <-b.ended:
	case <-time.After(logCloseTimeout):
	}
}

func (b *LogBuffer) run() {
	defer close(b.ended)
	var lines []byte
	for closing := false; !closing; {
		<-b.wake
		time.Sleep(logDelay)
		var dropped int
		lines, dropped, closing = b.take(lines[:0])
		if dropped > 0 {
			b.lost(dropped) // first, while the buffer is empty and has room for it
		}
		if len(lines) > 0 {
			_, _ = b.w.Write(lines) // an error of the log can't be logged
		}
	}
}

// take returns the pending lines, and replaces them by an empty buffer.
func (b *LogBuffer) take(empty []byte) (lines []byte, dropped int, closing bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines, b.pending = b.pending, empty
	dropped, b.dropped = b.dropped, 0
	return lines, dropped, b.closing
}

// EscapeLines returns a writer of whole lines, in which it replaces characters that a
// terminal acts on instead of showing them: control characters but tab and line feed,
// and those that change the direction of text. They become \uXXXX, which a JSON string
// decodes to the same character. slog leaves some of them as they are.
func EscapeLines(w io.Writer) io.Writer { return lineEscaper{w} }

type lineEscaper struct{ w io.Writer }

func (e lineEscaper) Write(line []byte) (int, error) {
	var safe []byte
	copied := 0
	for i := 0; i < len(line); {
		if c := line[i]; ' ' <= c && c < unicode.MaxASCII { // nearly all
			i++
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		if ActsOnTerminals(r) {
			safe = fmt.Appendf(append(safe, line[copied:i]...), `\u%04x`, r)
			copied = i + size
		}
		i += size
	}
	if copied == 0 {
		return e.w.Write(line)
	}
	if _, err := e.w.Write(append(safe, line[copied:]...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// ActsOnTerminals reports whether a terminal acts on a character instead of showing it.
func ActsOnTerminals(r rune) bool {
	return r != '\t' && r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}
