package web

import (
	"unicode"
	"unicode/utf8"
)

// upperFirst makes a message a sentence.
func upperFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}
