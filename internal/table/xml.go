package table

import (
	"bytes"
	"errors"
	"unicode/utf8"
)

var errNotUTF8 = errors.New("the value is not valid UTF-8")

const upperHex = "0123456789ABCDEF"

// appendXML appends text as the content of an XML element of a workbook, and
// returns its length in UTF-16 code units. Characters that XML 1.0 can't hold
// are written as _xHHHH_, as the format has it; so is a carriage return, which
// XML would turn into a line feed. A text that looks like that has its
// underscore escaped.
func appendXML(dst, text []byte) (xml []byte, length int, err error) {
	start := 0
	for i := 0; i < len(text); {
		var escape string
		size, b := 1, text[i]
		length++
		switch {
		case b >= utf8.RuneSelf:
			var r rune
			if r, size = utf8.DecodeRune(text[i:]); r == utf8.RuneError && size == 1 {
				return dst, length, errNotUTF8
			}
			if r > 0xffff {
				length++
			}
			if r != 0xfffe && r != 0xffff {
				i += size
				continue
			}
			escape = "_xFFF" + upperHex[r&0xf:r&0xf+1] + "_"
		case b == '&':
			escape = "&amp;"
		case b == '<':
			escape = "&lt;"
		case b == '>':
			escape = "&gt;"
		case b == '_' && looksEscaped(text[i:]):
			escape = "_x005F_"
		case b < ' ' && b != '\t' && b != '\n':
			escape = "_x00" + upperHex[b>>4:b>>4+1] + upperHex[b&0xf:b&0xf+1] + "_"
		default:
			i++
			continue
		}
		dst = append(append(dst, text[start:i]...), escape...)
		i += size
		start = i
	}
	return append(dst, text[start:]...), length, nil
}

// looksEscaped reports whether text begins like _xHHHH_. The last underscore
// may still come, from an escape that follows.
func looksEscaped(text []byte) bool {
	return len(text) >= len("_xHHHH") && text[1] == 'x' && len(bytes.Trim(text[2:6], "0123456789abcdefABCDEF")) == 0
}
