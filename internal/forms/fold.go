package forms

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// Upper and lower case are alike by Unicode's simple case folding, the rule of
// strings.EqualFold: ä is Ä and σ is ς and Σ, but ß is not ss, and é as one
// character is not e with an accent.

// foldTable is the folded form of the characters up to U+FFFF. To look one up
// in the tables of package unicode takes a hundred times as long.
var foldTable = sync.OnceValue(func() *[1 << 16]uint16 {
	var table [1 << 16]uint16
	for r := range table {
		table[r] = uint16(foldRune(rune(r))) // the lowest is not above r
	}
	return &table
})

// foldRune returns the lowest of the characters that are r in another case.
func foldRune(r rune) rune {
	lowest := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		lowest = min(lowest, other)
	}
	return lowest
}

// Fold returns text so that two texts that differ in case alone become the same.
func Fold(text string) string { return string(appendFolded(nil, []byte(text))) }

// appendFolded appends text so that two texts that differ in case alone become
// the same.
func appendFolded(dst, text []byte) []byte {
	table := foldTable()
	for i := 0; i < len(text); {
		if b := text[i]; b < utf8.RuneSelf {
			dst = append(dst, byte(table[b])) //nolint:gosec // the lowest of its kind is not above b
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r < 1<<16 {
			r = rune(table[r])
		} else {
			r = foldRune(r)
		}
		dst = utf8.AppendRune(dst, r)
		i += size
	}
	return dst
}
