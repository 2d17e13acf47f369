package server

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// logDelay is how long a line may wait to be written together with others. A
// process that is killed loses the lines of this time.
const logDelay = 10 * time.Millisecond

// LogBuffer writes lines to W in batches: a system call for each line would take
// a twentieth of the CPU of a request. While W blocks, Write blocks too.
type LogBuffer struct {
	W io.Writer

	mu    sync.Mutex
	lines []byte
}

func (b *LogBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.lines) == 0 {
		time.AfterFunc(logDelay, b.Flush)
	}
	b.lines = append(b.lines, line...)
	return len(line), nil
}

// Flush writes the buffered lines.
func (b *LogBuffer) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, _ = b.W.Write(b.lines) // an error of the log can't be logged
	b.lines = b.lines[:0]
}

// LineEscaper is a writer of whole lines, in which it replaces characters that a
// terminal acts on instead of showing them: control characters but tab and line feed,
// and those that change the direction of text. They become \uXXXX, which a JSON string
// decodes to the same character. slog leaves some of them as they are.
type LineEscaper struct{ W io.Writer }

func (e LineEscaper) Write(line []byte) (int, error) {
	safe := line
	// A look at the bytes is quick, and enough for most lines: ASCII, and the µ of durations, which is c2 b5 in UTF-8.
	// Control characters that begin with c2 end with a byte below a0.
	notPlain := func(c byte) bool {
		return c < ' ' && c != '\n' || c >= 0x7f && c < 0xa0 || c > 0xc2
	}
	if slices.ContainsFunc(line, notPlain) && bytes.ContainsFunc(line, ActsOnTerminals) {
		safe = nil
		for _, r := range string(line) {
			if ActsOnTerminals(r) {
				safe = fmt.Appendf(safe, `\u%04x`, r)
			} else {
				safe = utf8.AppendRune(safe, r)
			}
		}
	}
	_, err := e.W.Write(safe)
	return len(line), err
}

// ActsOnTerminals reports whether a terminal acts on a character instead of showing it.
func ActsOnTerminals(r rune) bool {
	return r != '\t' && r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}
