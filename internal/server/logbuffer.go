package server

import (
	"io"
	"sync"
	"time"
)

const (
	// logDelay is how long a line of the access log may wait to be written. A
	// process that is killed loses the lines of this time.
	logDelay = 100 * time.Millisecond
	// logBatch is the size from which on buffered lines are written without
	// waiting for logDelay.
	logBatch = 32 << 10
	// maxLogBuffer bounds the buffered lines. It bridges a pause of the reader
	// of about 150 ms at the highest rate of requests.
	maxLogBuffer = 1 << 20
	// logCloseTimeout is how long Close waits for the last write.
	logCloseTimeout = 500 * time.Millisecond
)

// LogBuffer is a bounded buffer in front of a file or pipe that may be slow.
// One goroutine writes to the file, so that logging never blocks a request or
// the shutdown. Lines that do not fit into the buffer are dropped and counted.
//
// Lines of the access log are written in batches: a write per request takes
// 4 % of all cycles of a server that is busy with reads.
type LogBuffer struct {
	w      io.Writer
	lost   func(lines int)
	timer  *time.Timer   // calls wakeWriter at the end of logDelay
	wake   chan struct{} // has room for one element; see wakeWriter
	closed chan struct{} // closed when the writer goroutine has ended

	mu      sync.Mutex
	pending []byte // lines to be written
	dropped int    // lines not reported yet
	closing bool
}

// NewLogBuffer returns a buffer that writes to w until it is closed. When w
// accepts data again after lines were dropped, lost is called with their
// number. It may log to this buffer.
func NewLogBuffer(w io.Writer, lost func(lines int)) *LogBuffer {
	b := &LogBuffer{w: w, lost: lost, wake: make(chan struct{}, 1), closed: make(chan struct{})}
	b.timer = time.AfterFunc(time.Hour, b.wakeWriter)
	b.timer.Stop()
	go b.run()
	return b
}

// Write buffers a line, to be written within logDelay. It never fails.
func (b *LogBuffer) Write(line []byte) (int, error) {
	b.add(line, false)
	return len(line), nil
}

// Direct returns a writer for lines that are written at once, together with
// all lines buffered before them.
func (b *LogBuffer) Direct() io.Writer { return directLog{b} }

type directLog struct{ b *LogBuffer }

func (d directLog) Write(line []byte) (int, error) {
	d.b.add(line, true)
	return len(line), nil
}

func (b *LogBuffer) add(line []byte, now bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing || len(b.pending)+len(line) > maxLogBuffer {
		b.dropped++
		return
	}
	if len(b.pending) == 0 {
		b.timer.Reset(logDelay)
	}
	b.pending = append(b.pending, line...)
	if now || len(b.pending) >= logBatch {
		b.wakeWriter()
	}
}

// wakeWriter wakes the writer goroutine. It does not block: if the channel
// is full, the writer goroutine is about to take the lines anyway.
func (b *LogBuffer) wakeWriter() {
	select {
	case b.wake <- struct{}{}:
	default:
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
	case <-b.closed:
	case <-time.After(logCloseTimeout):
	}
}

// run is the writer goroutine.
func (b *LogBuffer) run() {
	defer close(b.closed)
	var lines []byte
	for closing := false; !closing; {
		<-b.wake
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
