package server

import (
	"io"
	"slices"
	"sync"
	"time"
)

const (
	// logDelay is how long a line of the access log may be held back, and so
	// what a process that is killed loses of it.
	logDelay = 100 * time.Millisecond
	// logStuck is how long whoever reads the log may take for a piece of it.
	logStuck = time.Second
	logPiece = 8 << 10
	// maxHeldLog is how much is held, beside what is being written.
	maxHeldLog = 256 << 10
	// fullWrite is from where on lines are written without delay.
	fullWrite = 32 << 10
)

// LogBuffer stands between those who log and a file or pipe that may be slow.
//
// Lines of the access log are held back for a moment, so that many are written
// at once: a write per request is one in twenty-five of all cycles of a server
// that is busy with reads. And nobody waits for a reader of the log who has
// stopped reading, neither a request nor the server's end: after a second
// lines that no longer fit are dropped, and counted.
type LogBuffer struct {
	w    io.Writer
	lost func(lines int)
	due  *time.Timer // writes what is held
	ends chan struct{}

	mu      sync.Mutex
	changed sync.Cond // of all that follows
	held    []byte
	dropped int  // lines, not told yet
	ready   bool // held is to be written now
	turns   int  // pieces begun and ended by now
	stuck   bool // the piece that is being written takes too long
	closed  bool
}

// NewLogBuffer writes to w until it is closed. When w takes lines again after
// some were dropped, lost is told how many.
func NewLogBuffer(w io.Writer, lost func(lines int)) *LogBuffer {
	b := &LogBuffer{w: w, lost: lost, ends: make(chan struct{})}
	b.changed.L = &b.mu
	b.due = time.AfterFunc(time.Hour, b.write)
	b.due.Stop()
	go b.run()
	return b
}

// Write takes a line that may wait a moment.
func (b *LogBuffer) Write(line []byte) (int, error) {
	b.add(line, false)
	return len(line), nil
}

// Direct returns a writer for lines that are to be seen at once, and with them
// all that were there before.
func (b *LogBuffer) Direct() io.Writer { return directLog{b} }

type directLog struct{ *LogBuffer }

func (d directLog) Write(line []byte) (int, error) {
	d.add(line, true)
	return len(line), nil
}

func (b *LogBuffer) add(line []byte, now bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.held)+len(line) > maxHeldLog && len(b.held) > 0 && !b.stuck && !b.closed {
		b.changed.Wait() // a reader who is slow, but there, sets the pace
	}
	if b.closed || len(b.held) > 0 && len(b.held)+len(line) > maxHeldLog {
		b.dropped++
		return
	}
	if len(b.held) == 0 && !now {
		b.due.Reset(logDelay)
	}
	b.held = append(b.held, line...)
	if now || len(b.held) >= fullWrite {
		b.ready = true
		b.changed.Broadcast()
	}
}

// write has what is held written now.
func (b *LogBuffer) write() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = len(b.held) > 0
	b.changed.Broadcast()
}

// Close writes what is held, and returns when that is done, or takes too long:
// a server must end in time.
func (b *LogBuffer) Close() {
	b.mu.Lock()
	b.closed = true
	b.changed.Broadcast()
	b.mu.Unlock()
	select {
	case <-b.ends:
	case <-time.After(logStuck / 2):
	}
}

func (b *LogBuffer) run() {
	defer close(b.ends)
	for lines := b.take(nil); len(lines) > 0; lines = b.take(lines) {
		for piece := range slices.Chunk(lines, logPiece) {
			turn := b.next()
			late := time.AfterFunc(logStuck, func() { b.giveUp(turn) })
			_, _ = b.w.Write(piece) // there is nobody to tell
			late.Stop()
			b.next()
		}
		if dropped := b.takeDropped(); dropped > 0 {
			go b.lost(dropped) // who logs it may wait for this goroutine
		}
	}
}

// take waits for lines that are to be written, and leaves room for others in
// their place. There are none when the buffer was closed.
func (b *LogBuffer) take(room []byte) (lines []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.ready && !b.closed {
		b.changed.Wait()
	}
	lines, b.held = b.held, room[:0]
	b.ready = false
	b.changed.Broadcast() // there is room
	return lines
}

// next begins or ends a piece.
func (b *LogBuffer) next() (turn int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stuck = false
	b.turns++
	return b.turns
}

// giveUp comes too late where another turn has begun.
func (b *LogBuffer) giveUp(turn int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.turns == turn {
		b.stuck = true
		b.changed.Broadcast()
	}
}

func (b *LogBuffer) takeDropped() (dropped int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	dropped, b.dropped = b.dropped, 0
	return dropped
}
