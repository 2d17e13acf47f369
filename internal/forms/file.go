package forms

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"regexp"
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

// sizeUnits are units of size, with the texts that name them.
var sizeUnits = []struct {
	decimal, binary         int64
	decimalText, binaryText *Message
}{
	{1e9, 1 << 30, Say("{0} GB"), Say("{0} GiB")},
	{1e6, 1 << 20, Say("{0} MB"), Say("{0} MiB")},
	{1e3, 1 << 10, Say("{0} kB"), Say("{0} KiB")},
}

var (
	size        = regexp.MustCompile(`^\s*([0-9]+) ?([A-Za-z]+)\s*$`)
	bytesOfUnit = map[string]int64{"kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
)

// ParseSize reads a number of bytes as people write it, such as 5MB or 512 KiB. The largest number
// stands for all that are larger.
func ParseSize(text string) (bytes int64, ok bool) {
	m := size.FindStringSubmatch(text)
	if m == nil || bytesOfUnit[m[2]] == 0 {
		return 0, false
	}
	number, err := strconv.ParseInt(m[1], 10, 64)
	unit := bytesOfUnit[m[2]]
	if err != nil || number > math.MaxInt64/unit {
		return math.MaxInt64, true
	}
	return number * unit, true
}

// SizeText is a number of bytes as people write it, in binary units only where it is a
// whole number of these. It is rounded down: a limit must not promise more than it allows.
func SizeText(n int64) *Message {
	for _, unit := range sizeUnits {
		switch {
		case n < unit.decimal:
		case n%unit.decimal != 0 && n%unit.binary == 0:
			return &Message{Text: unit.binaryText.Text, Args: []any{n / unit.binary}}
		default:
			return &Message{Text: unit.decimalText.Text, Args: []any{float64(n/(unit.decimal/10)) / 10}}
		}
	}
	return SayN("{0} bytes", "{0} bytes", int(n))
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
