package markup

import (
	"fmt"
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
	fileSize  = regexp.MustCompile(`^([0-9]+) ?(\pL*)$`)
)

// sizeUnits are the units of maxSize, in bytes.
var (
	sizeUnits     = map[string]int64{"kB": 1000, "MB": 1000 * 1000, "KiB": 1 << 10, "MiB": 1 << 20}
	sizeUnitNames = []string{"kB", "MB", "KiB", "MiB"}
)

// accept reads a list of file types, or one text with commas between them, as in
// HTML.
func (w *builder) accept(n *yaml.Node) valueList {
	if resolveAlias(n).Kind != yaml.ScalarNode {
		return w.list(n, "accept")
	}
	w.warnIfMisread(n, "value")
	v := w.scalar(n, "accept")
	list := valueList{at: v.at}
	for _, part := range strings.SplitN(v.text, ",", MaxAccept+1) { // one too many is reported
		list.values = append(list.values, value{text: strings.TrimSpace(part), at: v.at, null: v.null})
	}
	return list
}

// fileLimits checks which files a field accepts, and of what size.
func (w *builder) fileLimits(m *yamlMap, f *forms.Field) {
	if f.Type == forms.File {
		if n := m.values["accept"]; n != nil {
			w.checkAccept(w.accept(n), f)
		}
		if v := w.text(m, "maxSize"); v.written() && !v.invalid {
			f.MaxSize = w.maxSize(v)
		}
		return
	}
	for _, key := range []string{"accept", "maxSize"} {
		if n := m.values[key]; n != nil && slices.Contains(forms.FieldTypes, f.Type) { // another type was reported
			w.errorf(spotOf(n), "", "a field of type %s can't have %s: it is for fields of type file", f.Type, key)
		}
	}
}

func (w *builder) checkAccept(list valueList, f *forms.Field) {
	if len(list.values) > MaxAccept {
		w.errorf(list.at, "", "the field accepts more than %d types of files", MaxAccept)
		return
	}
	for _, v := range list.values {
		pattern := strings.ToLower(v.text)
		switch {
		case v.null, pattern == "":
			w.errorf(v.at, acceptHint, "accept has an empty value")
		case len(pattern) > MaxAcceptLen:
			w.errorf(v.at, acceptHint, "accept %s is longer than %d bytes", quote(v.text), MaxAcceptLen)
		case strings.Contains(pattern, forms.Separator):
			w.errorf(v.at, "separate file types by commas", "accept %s contains %q", quote(v.text), forms.Separator)
		case !fileExtension.MatchString(pattern) && !mediaType.MatchString(pattern):
			w.errorf(v.at, acceptHint, "accept %s is neither an extension nor a media type", quote(v.text))
		case slices.Contains(f.Accept, pattern):
			w.warnf(v.at, "", "accept %s appears twice", quote(v.text))
		default:
			f.Accept = append(f.Accept, pattern)
		}
	}
}

// maxSize returns the bytes that a text such as 5MB stands for.
func (w *builder) maxSize(v value) int64 {
	m := fileSize.FindStringSubmatch(strings.TrimSpace(v.text))
	switch {
	case v.null:
		w.errorf(v.at, maxSizeHint, "maxSize has no value")
		return 0
	case m == nil:
		w.errorf(v.at, maxSizeHint, "maxSize %s is not a size", quote(v.text))
		return 0
	case m[2] == "":
		w.errorf(v.at, maxSizeHint, "maxSize %s has no unit", quote(v.text))
		return 0
	}
	unit, known := sizeUnits[m[2]]
	if !known {
		w.errorf(v.at, unitHint(m[2]), "unknown unit %s in maxSize", quote(m[2]))
		return 0
	}
	number, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || number < 1 || number > MaxFileBytes/unit {
		w.errorf(v.at, "", "maxSize %s must be more than 0 and at most %dMiB", quote(v.text), MaxFileBytes>>20)
		return 0
	}
	return number * unit
}

// unitHint suggests a unit that differs in case only. nearest would suggest kB
// for GB.
func unitHint(unit string) string {
	for _, name := range sizeUnitNames {
		if strings.EqualFold(name, unit) {
			return fmt.Sprintf("did you mean %q?", name)
		}
	}
	return oneOf(sizeUnitNames)
}
