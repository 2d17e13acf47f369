package markup

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

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

// splitAccept reads file types that are separated by commas, as in HTML.
func splitAccept(v value) *rawList {
	list := &rawList{at: v.at}
	if v.invalid {
		return list // it was reported
	}
	for _, part := range strings.SplitN(v.text, ",", MaxAccept+1) { // one too many is reported
		list.values = append(list.values, value{text: strings.TrimSpace(part), at: v.at, null: v.null})
	}
	return list
}

// fileLimits checks which files a field accepts, and of what size.
func (w *builder) fileLimits(raw *rawField, f *forms.Field) {
	if f.Type != forms.File {
		w.refuseFileLimits(raw, f)
		return
	}
	if raw.accept != nil {
		w.accept(raw.accept, f)
	}
	if raw.maxSize.written() && !raw.maxSize.invalid {
		f.MaxSize = w.maxSize(raw.maxSize)
	}
}

func (w *builder) refuseFileLimits(raw *rawField, f *forms.Field) {
	if !slices.Contains(forms.FieldTypes, f.Type) {
		return // the type itself was reported
	}
	if raw.accept != nil {
		w.errorf(raw.accept.at, "", "a field of type %s can't have accept: it is for fields of type file", f.Type)
	}
	if raw.maxSize.written() {
		w.errorf(raw.maxSize.at, "", "a field of type %s can't have maxSize: it is for fields of type file", f.Type)
	}
}

func (w *builder) accept(list *rawList, f *forms.Field) {
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
