package server

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// EscapeLog returns a writer of whole log lines, in which it replaces
// characters that a terminal acts on instead of showing them: DEL, the C1
// controls, and those that change the direction of text. They become \uXXXX,
// which a JSON string decodes to the same character. slog leaves them as they
// are in JSON, and DEL in text.
func EscapeLog(w io.Writer) io.Writer { return logEscaper{w} }

type logEscaper struct{ w io.Writer }

// Write passes on lines of plain ASCII, which nearly all are, without a copy.
func (e logEscaper) Write(line []byte) (int, error) {
	if indexUnsafe(line) < 0 {
		return e.w.Write(line)
	}
	if _, err := e.w.Write(appendEscaped(nil, line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

func appendEscaped(dst, text []byte) []byte {
	for len(text) > 0 {
		i := indexUnsafe(text)
		if i < 0 {
			return append(dst, text...)
		}
		r, size := utf8.DecodeRune(text[i:])
		dst = fmt.Appendf(append(dst, text[:i]...), `\u%04x`, r)
		text = text[i+size:]
	}
	return dst
}

// indexUnsafe returns the position of the first such character, or -1.
func indexUnsafe(line []byte) int {
	for i := 0; i < len(line); {
		if line[i] < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		if unsafeInLog(r) {
			return i
		}
		i += size
	}
	return -1
}

func unsafeInLog(r rune) bool {
	switch {
	case r < 0x7f:
		return false
	case r <= 0x9f: // DEL and C1
		return true
	}
	return r == 0x061c || r == 0x200e || r == 0x200f || // marks of direction
		0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 // embeddings, overrides, isolates
}
