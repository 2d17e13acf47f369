package markup

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

const (
	acceptHint  = "use an extension such as .pdf, a media type such as image/png, or image/*"
	maxSizeHint = "write a whole number with kB, MB, KiB or MiB after it, as in 5MB"
)

var (
	fileExtension = regexp.MustCompile(`^(?:\.[\p{L}\p{M}\p{N}_+~-]+)+$`)
	// mediaType matches names that RFC 6838 allows, without parameters.
	mediaType = regexp.MustCompile(`^[a-z0-9][a-z0-9!#$&^_.+-]*/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]*)$`)
	fileSize  = regexp.MustCompile(`^([0-9]+) ?(kB|MB|KiB|MiB)$`)
)

// sizeUnits are the units of maxSize, in bytes.
var sizeUnits = map[string]int64{"kB": 1000, "MB": 1000 * 1000, "KiB": 1 << 10, "MiB": 1 << 20}

// fileLimits reads which files a field accepts, and of what size.
func (w *builder) fileLimits(m *yamlMap, f *forms.Field) {
	if f.Type == forms.File {
		if n := m.values["accept"]; n != nil {
			w.accept(n, f)
		}
		if v := w.text(m, "maxSize"); v.written && !v.invalid {
			f.MaxSize = w.maxSize(v)
		}
		return
	}
	for _, key := range []string{"accept", "maxSize"} {
		if n := m.values[key]; n != nil && isKnownType(f) {
			w.errorf(n.Column, "", "a field of type %s can't have %s: it is for fields of type file", f.Type, key)
		}
	}
}

// accept reads a list of file types, or one text with commas between them, as in
// HTML.
func (w *builder) accept(n *yaml.Node, f *forms.Field) {
	var list []value
	if n.Kind != yaml.ScalarNode {
		list = w.list(n, "accept")
	} else {
		v := w.scalar(n, "accept")
		for _, part := range strings.SplitN(v.text, ",", MaxAccept+1) { // one too many is reported
			list = append(list, value{text: strings.TrimSpace(part), at: v.at})
		}
	}
	if len(list) > MaxAccept {
		w.errorf(n.Column, "", "the field accepts more than %d types of files", MaxAccept)
		return
	}
	for _, v := range list {
		pattern := strings.ToLower(v.text)
		switch {
		case len(pattern) > MaxAcceptLen:
			w.errorf(v.at, acceptHint, "accept %s is longer than %d bytes", quote(v.text), MaxAcceptLen)
		case !fileExtension.MatchString(pattern) && !mediaType.MatchString(pattern):
			w.errorf(v.at, acceptHint, "accept %s is neither an extension nor a media type", quote(v.text))
		case !slices.Contains(f.Accept, pattern):
			f.Accept = append(f.Accept, pattern)
		}
	}
}

// maxSize returns the bytes that a text such as 5MB stands for.
func (w *builder) maxSize(v value) int64 {
	m := fileSize.FindStringSubmatch(strings.TrimSpace(v.text))
	if m == nil {
		w.errorf(v.at, maxSizeHint, "maxSize %s is not a size", quote(v.text))
		return 0
	}
	unit := sizeUnits[m[2]]
	number, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || number < 1 || number > MaxFileBytes/unit {
		w.errorf(v.at, "", "maxSize %s must be more than 0 and at most %dMiB", quote(v.text), MaxFileBytes>>20)
		return 0
	}
	return number * unit
}
