package markup

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

func (w *builder) field(n *yaml.Node, inSection bool) {
	m := w.readMap(n, "a field", `write "- id: …" and "type: …"`, fieldKeys, nil)
	if m == nil {
		return
	}
	rank := len(w.form.Fields)
	id := w.fieldID(m)
	f := forms.Field{ID: id, Type: w.fieldType(m), Required: w.boolean(m, "required")}
	f.MacroID = cmp.Or(w.hostIDs[n], forms.FieldMacroID(w.form.PageID, w.form.ID, id))
	f.Label = cmp.Or(w.shownText(m, "label"), id)
	f.Help = w.shownText(m, "help")
	w.options = append(w.options, nil)
	w.validation(m, &f)
	w.fileLimits(m, &f)
	w.fieldLimits(m, &f)
	w.form.Fields = append(w.form.Fields, f)
	w.offsets = append(w.offsets, m.at)
	if key := m.keys["showIf"]; inSection && key != nil {
		w.errorf(key.Column, "give the section a showIf, or take the field out of it", "a field in a section can't have a showIf of its own")
	} else {
		w.addOwner(m, "", rank)
	}
}

func (w *builder) fieldID(m *yamlMap) string {
	v := w.text(m, "id")
	switch first, dup := w.ranks[v.text]; {
	case v.invalid:
		return ""
	case !v.present():
		w.errorf(m.at, "", `the field has no "id"`)
		return ""
	case dup:
		w.errorf(v.at, "", "field %s appears twice, first on line %d", quote(v.text), w.line(w.offsets[first]))
		return v.text
	}
	// An invalid id is recorded, too, so that it is reported once, here, and not
	// as unknown wherever it is used.
	w.ranks[v.text] = len(w.form.Fields)
	if reason := checkFieldID(v.text); reason != "" {
		w.errorf(v.at, fieldIDHint, "id %s %s", quote(v.text), reason)
	}
	return v.text
}

func (w *builder) fieldType(m *yamlMap) forms.FieldType {
	v := w.text(m, "type")
	if !v.written {
		w.errorf(m.at, oneOf(forms.FieldTypes), `the field has no "type"`)
	}
	if hint := typeHints[strings.ToLower(v.text)]; hint != "" {
		w.errorf(v.at, hint, "unknown type %s", quote(v.text))
		return forms.FieldType(v.text)
	}
	return choice(w.decoder, v, "type", forms.FieldTypes)
}

const shownTextHint = "shorten it, and put it on one line; only help and thanks have several"

// shownText reads a text for people. Help texts and thanks may have several lines.
func (w *builder) shownText(m *yamlMap, key string) string {
	v := w.text(m, key)
	if !v.present() {
		return ""
	}
	w.warnOfComment(m.values[key])
	text := strings.TrimSpace(v.text)
	checked := text
	if key == "help" || key == "thanks" {
		checked = strings.ReplaceAll(text, "\n", " ")
	}
	if reason := checkText(checked); reason != "" {
		w.errorf(v.at, shownTextHint, "%s %s %s", key, quote(text), reason)
	}
	return text
}

// ownValidation is the validation of types that have no other.
var ownValidation = map[forms.FieldType]forms.Validation{forms.Date: forms.DateOnly, forms.File: forms.FileName}

func (w *builder) validation(m *yamlMap, f *forms.Field) {
	validate := w.text(m, "validate")
	switch {
	case m.values["options"] != nil:
		w.readOptions(m, f, validate)
	case validate.written:
		f.Validation = choice(w.decoder, validate, "validation", forms.Validations)
		if own := ownValidation[f.Type]; own != "" && f.Validation != own && slices.Contains(forms.Validations, f.Validation) {
			w.warnf(validate.at, "leave validate out", "a %s never passes the validation %s: nobody can fill in this field", f.Type, f.Validation)
		}
	case f.Type == forms.Dropdown, f.Type == forms.Radio:
		w.warnf(m.at, "add options", "%s %s without options: any text will be accepted", f.Type, quote(f.ID))
	default:
		f.Validation = ownValidation[f.Type]
	}
}

// numberRange matches what may be meant as all whole numbers from one to another.
var numberRange = regexp.MustCompile(`^\d+ ?(-|–|\.{2,3}|to) ?\d+$`)

func (w *builder) readOptions(m *yamlMap, f *forms.Field, validate value) {
	at := m.values["options"].Column
	list := w.list(m.values["options"], "options")
	switch {
	case ownValidation[f.Type] != "":
		w.errorf(at, "", "a field of type %s can't have options", f.Type)
	case validate.written:
		w.errorf(validate.at, "leave validate out", "a field with options can't have validate: its options are its validation")
	case len(list) > MaxOptions:
		w.errorf(at, "", "the field has more than %d options", MaxOptions)
		return
	case len(list) == 1 && numberRange.MatchString(list[0].text):
		w.warnf(at, "write them all, as in [1, 2, 3]", "%s is one option", quote(list[0].text))
	}
	seen := map[string]bool{}
	for _, v := range list {
		w.checkListValue(v, "option")
		w.warnOfCurlyQuotes(v)
		if seen[v.text] {
			w.warnf(v.at, "", "option %s appears twice", quote(v.text))
		}
		seen[v.text] = true
		f.Options = append(f.Options, v.text)
	}
	w.options[len(w.form.Fields)] = seen
	f.Validation = forms.OneOf
	if f.MultiValue() {
		f.Validation = forms.AnyOf
	}
}

// curlyQuotes are what word processors make of straight ones. The apostrophe is
// not among them: words end with it.
const curlyQuotes = "“”„‟‘‚"

// warnOfCurlyQuotes warns of an option in quotes that YAML does not know. Quotes
// within an option are fine.
func (w *builder) warnOfCurlyQuotes(v value) {
	if inner := strings.Trim(v.text, curlyQuotes); inner != v.text && !strings.ContainsAny(inner, curlyQuotes) {
		w.warnf(v.at, `use straight quotes ("), or none`, "option %s has curly quotes around it: they are part of the answer", quote(v.text))
	}
}

// checkListValue checks an option, or a value in the list of a rule. Both are
// joined with forms.Separator.
func (w *builder) checkListValue(v value, noun string) {
	reason, hint := checkText(v.text), ""
	switch {
	case v.null, strings.TrimSpace(v.text) == "":
		w.errorf(v.at, "put it into quotes if it is a text", "the %s is empty", noun)
		return
	case strings.Contains(v.text, forms.Separator):
		reason, hint = `contains ";", which separates values`, "use another character"
	}
	if reason != "" {
		w.errorf(v.at, hint, "%s %s %s", noun, quote(v.text), reason)
	}
}
