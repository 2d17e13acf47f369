package forms

import (
	"path"
	"strconv"
	"strings"
	"unicode"
)

// MaxFileName is how long the name of a stored file may be, in bytes. Most file
// systems have the same limit, so that a download can be saved.
const MaxFileName = 255

// namelessFile is the name of a file that was sent without a usable one.
const namelessFile = "file"

// CleanFileName turns the name that a client sent with a file into one that can
// be a part of the field's value and a segment of a path. Only the last part of
// a path counts, whichever system it comes from.
func CleanFileName(name string) string {
	name = strings.ToValidUTF8(name, "_")
	name = strings.TrimRight(name, `/\`)
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if string(r) == Separator || !visibleInName(r) {
			return '_'
		}
		return r
	}, name)
	name = strings.TrimSpace(name)
	if name == "" || name == "." || name == ".." {
		return namelessFile
	}
	stem, ext := splitExt(name)
	return shorten(stem, ext)
}

// visibleInName is false for what hides or reorders other characters: "annexe",
// a mark for right-to-left text and "fdp.exe" would look like a PDF.
func visibleInName(r rune) bool {
	return !unicode.IsControl(r) && !unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// splitExt separates the extension, with its dot. A leading dot begins no
// extension, and neither does one that is followed by a whole sentence.
func splitExt(name string) (stem, ext string) {
	const longest = 32
	ext = path.Ext(name)
	if ext == name || len(ext) > longest {
		ext = ""
	}
	return strings.TrimSuffix(name, ext), ext
}

// shorten cuts the stem at a character, so that name and extension fit.
func shorten(stem, ext string) string { return CutText(stem, MaxFileName-len(ext)) + ext }

// UniqueFileName returns the name, with a number if it is taken: the second
// "a.pdf" becomes "a (2).pdf".
func UniqueFileName(name string, taken func(string) bool) string {
	stem, ext := splitExt(name)
	unique := name
	for n := 2; taken(unique); n++ {
		unique = shorten(stem, " ("+strconv.Itoa(n)+")"+ext)
	}
	return unique
}
