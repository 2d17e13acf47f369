package forms

import (
	"unicode"
	"unicode/utf8"
)

// Upper and lower case are alike by Unicode's simple case folding, the rule of
// strings.EqualFold: ä is Ä and σ is ς and Σ, but ß is not ss, and é as one
// character is not e with an accent.

// foldRune returns the lowest of the characters that are r in another case.
func foldRune(r rune) rune {
	lowest := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		lowest = min(lowest, other)
	}
	return lowest
}

// Fold returns text so that two texts that differ in case alone become the same.
func Fold(text string) string { return string(appendFolded(nil, text)) }

// appendFolded is Fold for texts that are searched one after the other.
func appendFolded(dst []byte, text string) []byte {
	for len(text) > 0 {
		if b := text[0]; b < utf8.RuneSelf {
			if 'a' <= b && b <= 'z' {
				b -= 'a' - 'A'
			}
			dst, text = append(dst, b), text[1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		dst, text = utf8.AppendRune(dst, foldRune(r)), text[size:]
	}
	return dst
}
