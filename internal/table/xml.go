package table

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

var errNotUTF8 = errors.New("the value is not valid UTF-8")

// appendXML appends text as the content of an XML element of a workbook, and
// returns its length in UTF-16 code units. Characters that XML 1.0 can't hold
// are written as _xHHHH_, as the format has it; so is a carriage return, which
// XML would turn into a line feed. A text that looks like that has its
// underscore escaped.
func appendXML(dst []byte, text string) (xml []byte, length int, err error) {
	if !utf8.ValidString(text) {
		return dst, 0, errNotUTF8
	}
	start := 0
	for i, r := range text {
		var escape string
		length += utf16.RuneLen(r)
		switch {
		case r == '&':
			escape = "&amp;"
		case r == '<':
			escape = "&lt;"
		case r == '>':
			escape = "&gt;"
		case r == '_' && looksEscaped(text[i:]):
			escape = "_x005F_"
		case r < ' ' && r != '\t' && r != '\n', r == 0xfffe, r == 0xffff:
			escape = fmt.Sprintf("_x%04X_", r)
		default:
			continue
		}
		dst = append(append(dst, text[start:i]...), escape...)
		start = i + utf8.RuneLen(r)
	}
	return append(dst, text[start:]...), length, nil
}

// looksEscaped reports whether text begins like _xHHHH_. The last underscore
// may still come, from an escape that follows.
func looksEscaped(text string) bool {
	return len(text) >= len("_xHHHH") && text[1] == 'x' && strings.Trim(text[2:6], "0123456789abcdefABCDEF") == ""
}
