package query

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Upper and lower case are alike by Unicode's simple case folding, the rule of
// strings.EqualFold: ä is Ä and σ is ς and Σ, but ß is not ss, and é as one
// character is not e with an accent.

// foldRune returns the lowest of the characters that are r in another case.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf { // nearly all
		return unicode.ToUpper(r)
	}
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
	for _, r := range text {
		dst = utf8.AppendRune(dst, foldRune(r))
	}
	return dst
}

// FindFold returns where a folded text occurs first in another text, upper and lower
// case alike. start is -1 if it does not.
func FindFold(text, folded string) (start, end int) {
	first := strings.Index(Fold(text), folded)
	if first < 0 {
		return -1, -1
	}
	at := 0 // within the folded text, whose characters may have other lengths
	for i, r := range text {
		if at == first {
			start = i
		}
		if at == first+len(folded) {
			return start, i
		}
		at += utf8.RuneLen(foldRune(r))
	}
	return start, len(text)
}
