package server

import (
	"fmt"
	"io"
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
	var safe []byte
	copied := 0
	for i := 0; i < len(line); {
		if c := line[i]; ' ' <= c && c < unicode.MaxASCII { // nearly all
			i++
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		if actsOnTerminals(r) {
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

func actsOnTerminals(r rune) bool {
	return r != '\t' && r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}
