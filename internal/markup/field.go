package markup

import (
	"cmp"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

func (r *formReader) field(n *yaml.Node, inSection bool) {
	if !r.checkKeys(n, "a field", `write "- id: …" and "type: …"`, fieldKeys, nil) {
		return
	}
	rank := len(r.form.Fields)
	id := r.fieldID(n)
	f := &forms.Field{
		ID: id, MacroID: cmp.Or(r.hostIDs[n], forms.MacroID(r.pageID, r.form.ID, "field", id)),
		Type: choice(r.reader, n, "type", "type", forms.FieldTypes), Required: r.boolean(n, "required"),
		Label: cmp.Or(r.shownText(n, "label"), id), Help: r.shownText(n, "help"),
		ByEditors: choice(r.reader, n, "by", "value of by", []string{"editors"}) != "",
	}
	if valueOf(n, "type") == nil {
		r.errorf(n.Column, oneOf(forms.FieldTypes), `the field has no "type"`)
	}
	for _, name := range r.earlierNames(n) {
		r.earlierIDs = append(r.earlierIDs, earlierID{name, rank})
	}
	r.options = append(r.options, map[string]bool{})
	r.validation(n, f)
	r.scale(n, f)
	if f.Type != "" { // an unknown one was reported
		r.limits(n, f)
	}
	r.form.Fields = append(r.form.Fields, f)
	r.offsets = append(r.offsets, n.Column)
	if showIf := valueOf(n, "showIf"); inSection && showIf != nil {
		r.errorf(showIf.Column, "give the section a showIf, or take the field out of it",
			"a field in a section can't have a showIf of its own")
	} else {
		r.addCondition(n, "field "+quote(id), rank)
	}
}

func (r *formReader) fieldID(m *yaml.Node) string {
	n := r.requiredText(m, "id", "", `the field has no "id"`)
	if n == nil {
		return ""
	}
	if first, dup := r.ranks[n.Value]; dup {
		r.errorf(n.Column, "", "field %s appears twice, first on line %d", quote(n.Value), r.line(r.offsets[first]))
		return n.Value
	}
	if n.Value == "lang" {
		r.warnf(n.Column, "give it another id if addresses are to fill it in",
			`?lang= in the address of a page chooses its language, and does not fill in this field`)
	}
	// An invalid id is recorded, too, so that it is reported once, here, and not
	// as unknown wherever it is used.
	r.ranks[n.Value] = len(r.form.Fields)
	if reason := checkFieldID(n.Value); reason != "" {
		r.errorf(n.Column, fieldIDHint, "id %s %s", quote(n.Value), reason)
	}
	return n.Value
}

// shownText reads a text for people. Some may have several lines.
func (r *formReader) shownText(m *yaml.Node, key string) string {
	if n := valueOf(m, key); n != nil {
		return r.shown(n, key)
	}
	return ""
}

// shown reads a text that messages call by its key.
func (r *formReader) shown(n *yaml.Node, key string) string {
	if n = r.inLanguage(n, key); n == nil || isNull(n) {
		return ""
	}
	r.warnOfComment(n)
	text := strings.TrimSpace(n.Value)
	checked := text
	if key == "help" || key == "intro" || key == "thanks" {
		checked = strings.ReplaceAll(text, "\n", " ")
	}
	if reason := checkText(checked); reason != "" {
		r.errorf(n.Column, "shorten it, and put it on one line; only intro, help and thanks have several",
			"%s %s %s", key, quote(text), reason)
	}
	return text
}

// ownValidation is the validation of types that have no other.
var ownValidation = map[forms.FieldType]forms.Validation{forms.Date: forms.DateOnly, forms.File: forms.FileName}

func (r *formReader) validation(m *yaml.Node, f *forms.Field) {
	options, validate, own := valueOf(m, "options"), valueOf(m, "validate"), ownValidation[f.Type]
	switch {
	case options != nil:
		r.readOptions(options, f)
		if own == "" && validate != nil {
			r.errorf(validate.Column, "leave validate out",
				"a field with options can't have validate: its options are its validation")
		}
	case validate != nil:
		f.Validation = choice(r.reader, m, "validate", "validation", forms.Validations)
		if own != "" && f.Validation != "" && f.Validation != own {
			r.warnf(validate.Column, "leave validate out",
				"a %s never passes the validation %s: nobody can fill in this field", f.Type, f.Validation)
		}
	case f.Type == forms.Dropdown, f.Type == forms.Radio:
		r.warnf(m.Column, "add options", "%s %s without options: any text will be accepted", f.Type, quote(f.ID))
	default:
		f.Validation = own
	}
}

// numberRange matches what may be meant as all whole numbers from one to another.
var numberRange = regexp.MustCompile(`^\d+ ?(-|–|\.{2,3}|to) ?\d+$`)

// readOptions reads the options of a field, which are its validation.
func (r *formReader) readOptions(n *yaml.Node, f *forms.Field) {
	list := r.items(n, "options", "write [a, b, c], or "+oneALine)
	switch {
	case ownValidation[f.Type] != "":
		r.errorf(n.Column, "", "a field of type %s can't have options", f.Type)
	case len(list) > MaxOptions:
		r.errorf(n.Column, "", "the field has more than %d options", MaxOptions)
		return
	case len(list) == 1 && numberRange.MatchString(list[0].Value):
		r.warnf(n.Column, "write them all, as in [1, 2, 3]", "%s is one option", quote(list[0].Value))
	}
	seen, shown := r.options[len(r.form.Fields)], map[string]string{} // values by what people read
	var earlier []earlierValue
	for _, item := range list {
		option := r.option(item, f)
		if option == nil {
			continue
		}
		r.checkListValue(option, "option")
		r.warnOfCurlyQuotes(option)
		value := option.Value
		label := f.LabelOf(value)
		switch other, taken := shown[label]; {
		case seen[value] && f.Labels == nil:
			r.warnf(option.Column, "", "option %s appears twice", quote(value))
		case seen[value]:
			r.errorf(option.Column, "remove one of them", "option %s appears twice", quote(value))
		case taken:
			r.errorf(item.Column, "give one of them another label",
				"people read %s for option %s and for option %s", quote(label), quote(other), quote(value))
		}
		seen[value], shown[label] = true, value
		f.Options = append(f.Options, value)
		for _, name := range r.earlierNames(item) {
			earlier = append(earlier, earlierValue{name, value})
		}
	}
	r.checkEarlierValues(f, earlier, seen)
	f.Validation = forms.OneOf
	if f.MultiValue() {
		f.Validation = forms.AnyOf
	}
}

// option reads an option: a text, or a mapping with a label, a colour or earlier values
// beside its value, which is returned. It is nil if there is none, which was reported.
func (r *formReader) option(n *yaml.Node, f *forms.Field) (value *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		if !r.isText(n, "an option") {
			return nil
		}
		r.warnOfComment(n)
		return n
	}
	value = r.requiredText(n, "value",
		`write {value: …, label: …}, or put a text that contains ": ", or begins with a bracket, into quotes`,
		`the option is a mapping without "value"`)
	if value == nil {
		return nil
	}
	r.checkKeys(n, "an option", "", optionKeys, nil)
	r.warnOfComment(value)
	if f.Labels == nil {
		f.Labels, f.Colors = map[string]string{}, map[string]string{}
	}
	if label := valueOf(n, "label"); label != nil {
		if label = r.inLanguage(label, "label"); label != nil {
			r.warnOfComment(label)
			r.checkListValue(label, "label")
			f.Labels[value.Value] = strings.TrimSpace(label.Value)
		}
	}
	if color := choice(r.reader, n, "color", "color", forms.Colors); color != "" {
		f.Colors[value.Value] = color
		if f.Type != forms.Status && f.Type != "" { // an unknown one was reported
			r.errorf(valueOf(n, "color").Column, "leave color out",
				"only options of a status have a color, not those of a %s", f.Type)
		}
	}
	return value
}

// curlyQuotes are what word processors make of straight ones. The apostrophe is
// not among them: words end with it.
const curlyQuotes = "“”„‟‘‚"

// warnOfCurlyQuotes warns of an option in quotes that YAML does not know. Quotes
// within an option are fine.
func (r *formReader) warnOfCurlyQuotes(n *yaml.Node) {
	if inner := strings.Trim(n.Value, curlyQuotes); inner != n.Value && !strings.ContainsAny(inner, curlyQuotes) {
		r.warnf(n.Column, `use straight quotes ("), or none`,
			"option %s has curly quotes around it: they are part of the answer", quote(n.Value))
	}
}

// checkListValue checks an option, or a value in the list of a rule. Both are
// joined with forms.Separator.
func (r *formReader) checkListValue(n *yaml.Node, noun string) {
	reason, hint := checkText(n.Value), "write "+oneALine
	switch {
	case strings.TrimSpace(n.Value) == "":
		r.errorf(n.Column, "put it into quotes if it is a text, or leave it out", "the %s is empty", noun)
		return
	case strings.Contains(n.Value, forms.Separator):
		reason, hint = `contains ";", which separates values`, "use another character"
	}
	if reason != "" {
		r.errorf(n.Column, hint, "%s %s %s", noun, quote(n.Value), reason)
	}
}
