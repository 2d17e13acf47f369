package forms

import (
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"
)

// StoredFile is a file of a submission. Its content is in the store.
type StoredFile struct {
	ID      int64  `json:"id"` // of its content in the store
	FieldID string `json:"fieldId"`
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256"` // of its content, in lower-case hexadecimal digits
	Type    string `json:"type"`   // media type, found by looking at the content
}

// EncodeFiles returns files as they are stored: nil for none, else a JSON array.
func EncodeFiles(files []StoredFile) []byte {
	if len(files) == 0 {
		return nil
	}
	text, _ := json.Marshal(files) // strings and numbers can be encoded
	return text
}

// DecodeFiles reads what EncodeFiles has written.
func DecodeFiles(text []byte) ([]StoredFile, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var files []StoredFile
	if err := json.Unmarshal(text, &files); err != nil {
		return nil, fmt.Errorf("decode stored files: %w", err)
	}
	return files, nil
}

// CheckFileSize returns what is wrong with the size of a file, or "".
func (f *Field) CheckFileSize(size int64) string {
	if f.MaxSize == 0 || size <= f.MaxSize {
		return ""
	}
	return "must be at most " + SizeText(f.MaxSize)
}

// SizeText is a number of bytes as people write it, in binary units only where it is a
// whole number of these. It is rounded down: a limit must not promise more than it allows.
func SizeText(n int64) string {
	for i, unit := range []struct {
		size int64
		name string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if n < unit.size {
			continue
		}
		if binary := int64(1) << (30 - 10*i); n%unit.size != 0 && n%binary == 0 {
			return fmt.Sprintf("%d %ciB", n/binary, "GMK"[i])
		}
		tenths := float64(n/(unit.size/10)) / 10
		return strconv.FormatFloat(tenths, 'f', -1, 64) + " " + unit.name
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// MaxFileName is how long the name of a stored file may be, in bytes. Most file
// systems have the same limit, so that a download can be saved.
const MaxFileName = 255

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
		return "file" // the one that was sent is not usable
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
