package server

import (
	"io"
	"sync"
	"time"
)

const (
	// logDelay is how long a line may be held back, and so what a process that
	// is killed loses of its access log.
	logDelay = 100 * time.Millisecond
	// maxHeldLog is from where on lines are written at once.
	maxHeldLog = 32 << 10
)

// LogBuffer holds the lines of an access log back for a moment, so that many
// are written at once: a write per request is one in twenty-five of all cycles
// of a server that is busy with reads.
type LogBuffer struct {
	timer   *time.Timer
	writing sync.Mutex // taken before mu; guards w and spare
	w       io.Writer
	spare   []byte // takes the place of held while that is written
	mu      sync.Mutex
	held    []byte
}

// NewLogBuffer writes to w, one Write at a time. What it holds is lost without
// a Flush at the end.
func NewLogBuffer(w io.Writer) *LogBuffer {
	b := &LogBuffer{w: w}
	b.timer = time.AfterFunc(time.Hour, b.Flush)
	b.timer.Stop()
	return b
}

// Write holds a line back. It waits only when the lines come faster than they
// can be written.
func (b *LogBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	if len(b.held) == 0 {
		b.timer.Reset(logDelay)
	}
	b.held = append(b.held, line...)
	full := len(b.held) >= maxHeldLog
	b.mu.Unlock()
	if full {
		b.Flush()
	}
	return len(line), nil
}

// Flush writes what is held.
func (b *LogBuffer) Flush() {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.writeHeld()
}

// Direct returns a writer for lines that must not wait. They come after all
// that were there before them.
func (b *LogBuffer) Direct() io.Writer { return directLog{b} }

type directLog struct{ *LogBuffer }

func (d directLog) Write(line []byte) (int, error) {
	d.writing.Lock()
	defer d.writing.Unlock()
	d.writeHeld()
	return d.w.Write(line)
}

func (b *LogBuffer) writeHeld() {
	b.mu.Lock()
	lines := b.held
	b.held = b.spare[:0]
	b.mu.Unlock()
	if len(lines) > 0 {
		_, _ = b.w.Write(lines) // there is nobody to tell
	}
	b.spare = lines
}
