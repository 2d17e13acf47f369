package server

import (
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
	if !slices.ContainsFunc(line, beyondASCII) { // nearly all lines
		return e.w.Write(line)
	}
	var safe []byte
	for rest := line; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if actsOnTerminals(r) {
			safe = fmt.Appendf(safe, `\u%04x`, r)
		} else {
			safe = append(safe, rest[:size]...)
		}
		rest = rest[size:]
	}
	if _, err := e.w.Write(safe); err != nil {
		return 0, err
	}
	return len(line), nil
}

// beyondASCII reports whether a byte is not one of a printable character of ASCII,
// tab or line feed.
func beyondASCII(c byte) bool { return c >= unicode.MaxASCII || c < ' ' && c != '\t' && c != '\n' }

func actsOnTerminals(r rune) bool {
	return r != '\t' && r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}
