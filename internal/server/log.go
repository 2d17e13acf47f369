package server

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"unicode"
	"unicode/utf8"
)

// EscapeLines returns a writer of whole lines, in which it replaces characters that a
// terminal acts on instead of showing them: control characters but tab and line feed,
// and those that change the direction of text. They become \uXXXX, which a JSON string
// decodes to the same character. slog leaves some of them as they are.
func EscapeLines(w io.Writer) io.Writer { return lineEscaper{w} }

type lineEscaper struct{ w io.Writer }

func (e lineEscaper) Write(line []byte) (int, error) {
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
	_, err := e.w.Write(safe)
	return len(line), err
}

// ActsOnTerminals reports whether a terminal acts on a character instead of showing it.
func ActsOnTerminals(r rune) bool {
	return r != '\t' && r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}
