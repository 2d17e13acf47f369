package markup

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

const (
	numberHint    = "write a number such as 12 or -3.5, or {field: ID} for the answer to another field"
	dayHint       = "write a day such as 2026-01-31, today, or {field: ID} for the answer to another field"
	referenceHint = "write {field: ID}"
)

// limits reads what an answer must be beyond its validation.
func (r *formReader) limits(m *yaml.Node, f *forms.Field) {
	r.fileLimits(m, f)
	f.Min, f.Max = r.bound(m, f, "min"), r.bound(m, f, "max")
	if f.Min != nil && f.Max != nil && isGreater(f.Min.Value, f.Max.Value) {
		r.errorf(valueOf(m, "min").Column, "exchange them", "min %s is above max %s", f.Min.Value, f.Max.Value)
	}
	isText := (f.Type == forms.Textfield || f.Type == forms.Textbox) &&
		f.Validation != forms.Numeric && f.Validation != forms.DateOnly
	f.MaxLength = r.wholeNumber(m, "maxLength", MaxMaxLength)
	if n := valueOf(m, "maxLength"); n != nil && !isText {
		r.errorf(n.Column, "leave maxLength out; numbers and dates have min and max",
			"maxLength is for fields of type textfield and textbox without validate: numeric or date")
	}
	if n := valueOf(m, "default"); n != nil {
		r.defaultValue(n, f)
	}
}

// warnOfEditorsOnly warns of fields that keep everybody but editors from submitting.
func (r *formReader) warnOfEditorsOnly() {
	for rank, f := range r.form.Fields {
		if f.ByEditors && f.Required && f.Default == "" && f.Condition == nil {
			r.warnf(r.offsets[rank], "give it a default, or leave required out",
				"field %s is required, but only editors set it: nobody else can submit the form", quote(f.ID))
		}
	}
}

// kindOfBound is Numeric or DateOnly for a field that can have bounds, else
// NoValidation.
func kindOfBound(f *forms.Field) forms.Validation {
	own := ownValidation[f.Type]
	if f.MultiValue() || own != "" && own != f.Validation || kindName[f.Validation] == "" {
		return forms.NoValidation
	}
	return f.Validation
}

var kindName = map[forms.Validation]string{forms.Numeric: "a number", forms.DateOnly: "a day"}

// bound reads min or max. A field that it names is looked up when all are known.
func (r *formReader) bound(m *yaml.Node, f *forms.Field, key string) *forms.Bound {
	n := valueOf(m, key)
	if n == nil {
		return nil
	}
	kind := kindOfBound(f)
	if kind == forms.NoValidation {
		r.errorf(n.Column, "use a textfield with validate: numeric, or type: date", "%s is for numbers and dates", key)
		return nil
	}
	if n.Kind == yaml.MappingNode {
		return r.reference(n, key)
	}
	if !r.isText(n, key) {
		return nil
	}
	hint, isValue := numberHint, forms.IsDecimal(n.Value)
	if kind == forms.DateOnly {
		hint, isValue = dayHint, forms.IsDay(n.Value) || n.Value == forms.Today
	}
	switch {
	case !isValue:
		r.errorf(n.Column, hint, "%s %s is not %s", key, quote(n.Value), kindName[kind])
		return nil
	case len(n.Value) > maxBoundLen:
		r.errorf(n.Column, "", "%s %s has more than %d digits", key, quote(n.Value), maxBoundLen)
	}
	return &forms.Bound{Value: n.Value}
}

// boundReference is a bound of a field that names another one.
type boundReference struct {
	rank  int
	key   string
	field *yaml.Node
}

// reference reads a bound that is the answer to another field.
func (r *formReader) reference(m *yaml.Node, key string) *forms.Bound {
	r.checkKeys(m, key, referenceHint, []string{"field"}, nil)
	n := r.requiredText(m, "field", referenceHint, key+` names no "field"`)
	if n == nil {
		return nil
	}
	r.references = append(r.references, boundReference{rank: len(r.form.Fields), key: key, field: n})
	return &forms.Bound{FieldID: n.Value}
}

// checkReference reports a bound that names no field that it can.
func (r *formReader) checkReference(b boundReference) {
	f, id := r.form.Fields[b.rank], quote(b.field.Value)
	rank, known := r.rankOf(b.field, b.key+" of field "+quote(f.ID), "")
	switch {
	case !known:
	case rank == b.rank:
		r.errorf(b.field.Column, "name another field", "the %s of field %s is its own answer", b.key, id)
	case r.form.Fields[rank].Type != "" && kindOfBound(r.form.Fields[rank]) != kindOfBound(f):
		r.errorf(b.field.Column, "name a field of the same kind",
			"field %s is not %s, as field %s is", id, kindName[kindOfBound(f)], quote(f.ID))
	}
}

// isGreater is false unless both are numbers, or days.
func isGreater(a, b string) bool {
	return forms.Rule{Operator: forms.GreaterThan, Value: b}.Holds(nil, a)
}

// defaultValue reads the default of a field, which must be a valid answer.
func (r *formReader) defaultValue(n *yaml.Node, f *forms.Field) {
	if f.Type == forms.File {
		r.errorf(n.Column, "leave default out", "a field of type file can't have a default")
		return
	}
	f.Default = r.defaultText(n, f)
	if f.Default == "" || f.Default == forms.Today && f.Validation == forms.DateOnly {
		return
	}
	reason := f.CheckAnswer(forms.Answer{Value: f.Default}).String()
	switch {
	case reason != "":
	case f.Min != nil && isGreater(f.Min.Value, f.Default):
		reason = "is below min " + f.Min.Value
	case f.Max != nil && isGreater(f.Default, f.Max.Value):
		reason = "is above max " + f.Max.Value
	}
	if reason != "" {
		r.errorf(n.Column, cmp.Or(caseHint(f, f.Default), "a default must be a valid answer"),
			"default %s %s", quote(f.Default), forms.Clip(reason))
	}
}

// defaultText returns the default as it is stored, or "" if it was reported.
func (r *formReader) defaultText(n *yaml.Node, f *forms.Field) string {
	if f.MultiValue() && n.Kind == yaml.SequenceNode {
		return r.joinValues(n, "default", "default")
	}
	if !r.isText(n, "default") {
		return ""
	}
	r.warnOfComment(n)
	text := n.Value
	checked := text
	if f.Type == forms.Textbox {
		text = strings.TrimRight(text, "\n")
		checked = strings.ReplaceAll(text, "\n", " ")
	}
	switch reason := checkText(checked); {
	case strings.TrimSpace(text) == "":
		r.errorf(n.Column, "leave default out", "default is empty")
		return ""
	case reason != "":
		r.errorf(n.Column, "", "default %s %s", quote(text), reason)
		return ""
	case f.MultiValue():
		parts := strings.Split(text, forms.Separator)
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		return strings.Join(parts, forms.Separator)
	}
	return text
}

const (
	acceptHint  = "use an extension such as .pdf, a media type such as image/png, or image/*"
	maxSizeHint = "write a whole number with kB, MB, GB, KiB, MiB or GiB after it, as in 5MB"
)

var (
	fileExtension = regexp.MustCompile(`^(?:\.[\p{L}\p{M}\p{N}_+~-]+)+$`)
	// mediaType matches names that RFC 6838 allows, without parameters.
	mediaType = regexp.MustCompile(`^[a-z0-9][a-z0-9!#$&^_.+-]*/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]*)$`)
)

// fileLimits reads which files a field accepts, and of what size.
func (r *formReader) fileLimits(m *yaml.Node, f *forms.Field) {
	for key, read := range map[string]func(*yaml.Node, *forms.Field){"accept": r.accept, "maxSize": r.maxSize} {
		switch n := valueOf(m, key); {
		case n == nil:
		case f.Type == forms.File:
			read(n, f)
		default:
			r.errorf(n.Column, "", "a field of type %s can't have %s: it is for fields of type file", f.Type, key)
		}
	}
}

// accept reads a list of file types, or one text with commas between them, as in
// HTML.
func (r *formReader) accept(n *yaml.Node, f *forms.Field) {
	var list []*yaml.Node
	if n.Kind != yaml.ScalarNode {
		list = r.list(n, "accept")
	} else if r.isText(n, "accept") {
		for _, part := range strings.SplitN(n.Value, ",", MaxAccept+1) { // one too many is reported
			list = append(list, newNode(yaml.ScalarNode, strings.TrimSpace(part), n.Column))
		}
	}
	if len(list) > MaxAccept {
		r.errorf(n.Column, "", "the field accepts more than %d types of files", MaxAccept)
		return
	}
	for _, n := range list {
		pattern := strings.ToLower(n.Value)
		switch {
		case len(pattern) > MaxAcceptLen:
			r.errorf(n.Column, acceptHint, "accept %s is longer than %d bytes", quote(n.Value), MaxAcceptLen)
		case !fileExtension.MatchString(pattern) && !mediaType.MatchString(pattern):
			r.errorf(n.Column, acceptHint, "accept %s is neither an extension nor a media type", quote(n.Value))
		case !slices.Contains(f.Accept, pattern):
			f.Accept = append(f.Accept, pattern)
		}
	}
}

// maxSize reads a number of bytes, such as 5MB.
func (r *formReader) maxSize(n *yaml.Node, f *forms.Field) {
	if !r.isText(n, "maxSize") {
		return
	}
	size, ok := forms.ParseSize(n.Value)
	switch {
	case !ok:
		r.errorf(n.Column, maxSizeHint, "maxSize %s is not a size", quote(n.Value))
	case size < 1 || size > MaxFileBytes:
		r.errorf(n.Column, "", "maxSize %s must be more than 0 and at most %dMiB", quote(n.Value), MaxFileBytes>>20)
	default:
		f.MaxSize = size
	}
}
