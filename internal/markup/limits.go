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
	numberHint    = "write a number such as 12 or -3.5, or {field: ID} for the answer to another field"
	dayHint       = "write a day such as 2026-01-31, today, or {field: ID} for the answer to another field"
	referenceHint = "write {field: ID}"
	defaultHint   = "a default must be a valid answer"
)

// fieldLimits reads what an answer must be beyond its validation.
func (w *builder) fieldLimits(m *yamlMap, f *forms.Field) {
	f.Min, f.Max = w.bound(m, f, "min"), w.bound(m, f, "max")
	if isFixed(f.Min) && isFixed(f.Max) && isGreater(f, f.Min.Value, f.Max.Value) {
		w.errorf(m.values["min"].Column, "exchange them", "min %s is above max %s", f.Min.Value, f.Max.Value)
	}
	if v := w.text(m, "maxLength"); v.written && !v.invalid {
		isText := (f.Type == forms.Textfield || f.Type == forms.Textbox) && f.Validation != forms.Numeric && f.Validation != forms.DateOnly
		if f.MaxLength = w.wholeNumber(v, "maxLength", MaxMaxLength); !isText && isKnownType(f) {
			w.errorf(v.at, "leave maxLength out; numbers and dates have min and max", "maxLength is for fields of type textfield and textbox without validate: numeric or date")
		}
	}
	w.defaultValue(m, f)
	f.ByEditors = choice(w.decoder, w.text(m, "by"), "value of by", []string{byEditors}) == byEditors
}

// warnOfEditorsOnly warns of fields that keep everybody but editors from submitting.
func (w *builder) warnOfEditorsOnly() {
	for rank := range w.form.Fields {
		f := &w.form.Fields[rank]
		if f.ByEditors && f.Required && f.Default == "" && f.Condition == nil {
			w.warnf(w.offsets[rank], "give it a default, or leave required out",
				"field %s is required, but only editors set it: nobody else can submit the form", quote(f.ID))
		}
	}
}

const byEditors = "editors"

// isKnownType is false for a field whose type was reported.
func isKnownType(f *forms.Field) bool { return slices.Contains(forms.FieldTypes, f.Type) }

// kindOfBound is Numeric or DateOnly for a field that can have bounds, else
// NoValidation.
func kindOfBound(f *forms.Field) forms.Validation {
	own := ownValidation[f.Type]
	if f.MultiValue() || own != "" && own != f.Validation || f.Validation != forms.Numeric && f.Validation != forms.DateOnly {
		return forms.NoValidation
	}
	return f.Validation
}

// bound reads min or max. A field that it names is looked up when all are known.
func (w *builder) bound(m *yamlMap, f *forms.Field, key string) *forms.Bound {
	n := m.values[key]
	if n == nil || !isKnownType(f) {
		return nil
	}
	kind := kindOfBound(f)
	if kind == forms.NoValidation {
		w.errorf(n.Column, "use a textfield with validate: numeric, or type: date", "%s is for numbers and dates", key)
		return nil
	}
	if n.Kind == yaml.MappingNode {
		return w.reference(n, key)
	}
	v := w.scalar(n, key)
	hint, isValue := numberHint, forms.IsDecimal(v.text)
	if kind == forms.DateOnly {
		hint, isValue = dayHint, isDay(v.text) || v.text == forms.Today
	}
	switch {
	case v.invalid:
		return nil
	case !isValue:
		w.errorf(v.at, hint, "%s %s is not %s", key, quote(v.text), kindName[kind])
		return nil
	case len(v.text) > maxBoundLen:
		w.errorf(v.at, "", "%s %s has more than %d digits", key, quote(v.text), maxBoundLen)
	}
	return &forms.Bound{Value: v.text}
}

var kindName = map[forms.Validation]string{forms.Numeric: "a number", forms.DateOnly: "a day"}

func isDay(s string) bool { return forms.Ordered(s) && !forms.IsDecimal(s) }

// reference reads a bound that is the answer to another field.
func (w *builder) reference(n *yaml.Node, key string) *forms.Bound {
	v := w.text(w.readMap(n, key, referenceHint, []string{"field"}, nil), "field")
	if !v.present() {
		if !v.invalid {
			w.errorf(n.Column, referenceHint, `%s names no "field"`, key)
		}
		return nil
	}
	w.references = append(w.references, boundReference{rank: len(w.form.Fields), key: key, field: v})
	return &forms.Bound{FieldID: v.text}
}

// boundReference is a bound of a field that names another one.
type boundReference struct {
	rank  int
	key   string
	field value
}

// checkReference reports a bound that names no field that it can, or that always
// refuses the default.
func (w *builder) checkReference(r boundReference) {
	f := &w.form.Fields[r.rank]
	other, known := w.ranks[r.field.text]
	switch {
	case !known:
		w.errorf(r.field.at, w.nearestField(r.field.text), "unknown field %s", quote(r.field.text))
	case other == r.rank:
		w.errorf(r.field.at, "name another field", "the %s of field %s is its own answer", r.key, quote(f.ID))
	case isKnownType(&w.form.Fields[other]) && kindOfBound(&w.form.Fields[other]) != kindOfBound(f):
		w.errorf(r.field.at, "name a field of the same kind", "field %s is not %s, as field %s is", quote(r.field.text), kindName[kindOfBound(f)], quote(f.ID))
	case f.Condition == nil && w.form.Fields[other].Condition == nil:
		low, high, side := w.form.Fields[other].Default, f.Default, "below"
		if r.key == "max" {
			low, high, side = high, low, "above"
		}
		if isGreater(f, earliest(f, low), high) {
			w.errorf(r.field.at, defaultHint, "default %s of field %s is %s %s, the default of field %s",
				quote(f.Default), quote(f.ID), side, quote(w.form.Fields[other].Default), quote(r.field.text))
		}
	}
}

// firstDay is earlier than every day on which a form is used.
const firstDay = "2026-01-01"

// earliest returns the first day that a value can mean: firstDay for Today. Whether a form
// is valid must not depend on the day on which it is read.
func earliest(f *forms.Field, value string) string {
	if value == forms.Today && kindOfBound(f) == forms.DateOnly {
		return firstDay
	}
	return value
}

// isFixed is true for a bound that is the same every day, for every submission.
func isFixed(b *forms.Bound) bool {
	return b != nil && b.FieldID == "" && b.Value != forms.Today
}

func isGreater(f *forms.Field, a, b string) bool {
	return forms.Rule{Operator: forms.GreaterThan, Value: b}.Holds(f, a)
}

// defaultValue reads the default of a field, which must be a valid answer.
func (w *builder) defaultValue(m *yamlMap, f *forms.Field) {
	n := m.values["default"]
	switch {
	case n == nil || !isKnownType(f):
		return
	case f.Type == forms.File:
		w.errorf(n.Column, "leave default out", "a field of type file can't have a default")
		return
	}
	f.Default = w.defaultText(n, f)
	if f.Default == "" {
		return
	}
	if reason := defaultProblem(f); reason != "" {
		w.errorf(n.Column, defaultHint, "default %s %s", quote(w.firstWrong(f)), forms.Clip(reason))
		f.Default = ""
	}
}

// firstWrong is the part of the default of the field being read that is no option, or all of it.
func (w *builder) firstWrong(f *forms.Field) string {
	options := w.options[len(w.form.Fields)]
	for part := range strings.SplitSeq(f.Default, forms.Separator) {
		if f.MultiValue() && !options[part] {
			return part
		}
	}
	return f.Default
}

// defaultText returns the default as it is stored, or "" if it was reported.
func (w *builder) defaultText(n *yaml.Node, f *forms.Field) string {
	if f.MultiValue() && n.Kind == yaml.SequenceNode {
		return w.joinValues(n.Column, w.list(n, "default"), "default")
	}
	v := w.scalar(n, "default")
	w.warnOfComment(n)
	checked := v.text
	if f.Type == forms.Textbox {
		v.text = strings.TrimRight(v.text, "\n")
		checked = strings.ReplaceAll(v.text, "\n", " ")
	}
	switch {
	case v.invalid:
		return ""
	case strings.TrimSpace(v.text) == "":
		w.errorf(v.at, "leave default out", "default is empty")
		return ""
	case checkText(checked) != "":
		w.errorf(v.at, "", "default %s %s", quote(v.text), checkText(checked))
		return ""
	case f.MultiValue():
		parts := strings.Split(v.text, forms.Separator)
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		return strings.Join(parts, forms.Separator)
	}
	return v.text
}

// defaultProblem returns why the default can never be an answer, or "". A bound that
// depends on other answers is left to checkReference.
func defaultProblem(f *forms.Field) string {
	first := earliest(f, f.Default)
	switch reason := f.CheckAnswer(forms.Answer{FieldID: f.ID, Value: first}); {
	case reason != "":
		return reason
	case f.Min != nil && isGreater(f, earliest(f, f.Min.Value), f.Default):
		return "is below min " + f.Min.Value
	case f.Max != nil && isGreater(f, first, f.Max.Value):
		return "is above max " + f.Max.Value
	}
	return ""
}

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

// maxSize returns the number of bytes in a text such as 5MB.
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
