package markup

import (
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// built is a form that is complete except for its macro ids, which depend on
// the other forms of the page.
type built struct {
	form         *forms.Form
	hostID       string   // the host's macro id for the form, or ""
	fieldHostIDs []string // and for its fields, by rank
	owners       []owner
	strayHostIDs []string // host ids of form-field macros that could not become fields
	failed       bool     // it has an error: it is not served, but other forms can't have its macro ids
}

// owner is the field or section that a condition belongs to. The condition
// applies to count fields, beginning with rank first.
type owner struct {
	raw          *rawCondition
	condition    *forms.Condition
	section      string // "" for a field
	first, count int
}

func (o *owner) appliesTo(rank int) bool { return o.first <= rank && rank < o.first+o.count }

func (o *owner) name(f *forms.Form) string {
	if o.section != "" || o.count != 1 {
		return "section " + quote(o.section)
	}
	return "field " + quote(f.Fields[o.first].ID)
}

// builder checks what an author wrote, and makes a form of it.
type builder struct {
	*reporter
	built
	ranks      map[string]int // by field id
	fieldSpots []spot         // of the fields, by rank
	sections   map[string]spot
	rules      int
	searches   map[int]int // by rank: rules that search the field's text
}

// build checks a form and makes it.
func (r *reporter) build(raw *rawForm, hostID string, pageID int64) *built {
	w := &builder{
		reporter: r,
		built:    built{form: &forms.Form{PageID: pageID}, hostID: hostID, strayHostIDs: raw.strayHostIDs},
		ranks:    map[string]int{},
		sections: map[string]spot{},
		searches: map[int]int{},
	}
	w.form.ID = w.name(raw.id, raw.at, raw.what, raw.idKey)
	w.form.Anonymous = w.boolean(raw.anonymous, "anonymous")
	w.form.OneSubmission = w.boolean(raw.oneSubmission, "oneSubmission")
	w.items(raw)
	for i := range w.owners {
		w.condition(&w.owners[i])
	}
	w.findCycles()
	if !w.reporter.failed {
		w.measure(raw.at)
	}
	if w.built.failed = w.reporter.failed; !w.built.failed {
		w.lint()
	}
	return &w.built
}

// measure refuses a form whose definition is too large for an answer of the API,
// or whose HTML is too large for a page.
func (w *builder) measure(at spot) {
	size, html := w.form.DefinitionSize(), w.form.HTMLSize()
	switch {
	case size > MaxDefinitionBytes:
		w.errorf(at, "split the form, or shorten its conditions and options",
			"the form's definition has %d bytes, more than the %d allowed: a section's condition counts once for each of its fields, and a list as often as aliases repeat it",
			size, MaxDefinitionBytes)
	case html > MaxHTMLBytes:
		w.errorf(at, "split the form, or shorten the ids of fields with many options",
			"the form takes about %d bytes of HTML, more than the %d allowed: each choice repeats the id of its field, and a quote takes five bytes",
			html, MaxHTMLBytes)
	case w.defined+size > MaxPageDefinitionBytes:
		w.errorf(at, "move forms to other pages", "the definitions of the page's forms have more than %d bytes up to this one", MaxPageDefinitionBytes)
	default:
		w.defined += size
	}
}

func (w *builder) items(raw *rawForm) {
	for _, item := range raw.items {
		first := len(w.form.Fields)
		if first >= MaxFields {
			w.errorf(raw.at, "split the form", "the form has more than %d fields", MaxFields)
			return
		}
		if item.section == nil {
			w.field(&item.field)
			w.addOwner(item.field.showIf, "", first)
			continue
		}
		name := w.section(item.section)
		for i := range min(len(item.section.fields), MaxFields+1-first) { // one too many is reported below
			w.field(&item.section.fields[i])
		}
		w.addOwner(item.section.showIf, name, first)
		w.addSection(name, first)
	}
	if len(w.form.Fields) > MaxFields {
		w.errorf(raw.at, "split the form", "the form has more than %d fields", MaxFields)
	}
}

// addSection adds the section of the fields from rank first on. An empty one
// was reported as an error before.
func (w *builder) addSection(name string, first int) {
	count := len(w.form.Fields) - first
	if count == 0 {
		return
	}
	w.form.Sections = append(w.form.Sections, forms.Section{
		Name: name, MacroID: forms.SectionMacroID(w.form.PageID, w.form.ID, name),
		First: first, Count: count, Condition: w.form.Fields[first].Condition,
	})
}

// addOwner gives a condition to the fields from rank first on.
func (w *builder) addOwner(raw *rawCondition, section string, first int) {
	if raw == nil {
		return
	}
	o := owner{raw, &forms.Condition{}, section, first, len(w.form.Fields) - first}
	for rank := first; rank < len(w.form.Fields); rank++ {
		w.form.Fields[rank].Condition = o.condition
	}
	w.owners = append(w.owners, o)
}

// name checks the id of a form or the name of a section.
func (w *builder) name(v value, at spot, what, key string) string {
	if v.invalid {
		return ""
	}
	if !v.present() {
		w.errorf(at, idHint, "%s has no %q", what, key)
		return ""
	}
	if reason := checkID(v.text); reason != "" {
		w.errorf(v.at, idHint, "%s %s %s", key, quote(v.text), reason)
	}
	return v.text
}

func (w *builder) section(s *rawSection) string {
	name := w.name(s.name, s.at, "the section", "section")
	if first, dup := w.sections[name]; dup && name != "" {
		w.errorf(s.name.at, "", "section %s appears twice, first on line %d", quote(name), w.lineOf(first))
	} else {
		w.sections[name] = s.name.at
	}
	return name
}

func (w *builder) boolean(v value, key string) bool {
	switch {
	case !v.written(), v.invalid, v.text == "false":
		return false
	case v.text == "true":
		return true
	case v.null:
		w.errorf(v.at, "use true or false", "%s has no value", key)
	default:
		w.errorf(v.at, "use true or false", "%s must be true or false, not %s", key, quote(v.text))
	}
	return false
}

func (w *builder) field(raw *rawField) {
	f := forms.Field{ID: w.fieldID(raw), Type: w.fieldType(raw), Required: w.boolean(raw.required, "required")}
	f.Label = w.label(raw, f.ID)
	f.Help = w.help(raw)
	w.validation(raw, &f)
	w.fileLimits(raw, &f)
	w.form.Fields = append(w.form.Fields, f)
	w.fieldSpots = append(w.fieldSpots, raw.at)
	w.fieldHostIDs = append(w.fieldHostIDs, raw.hostID)
}

func (w *builder) fieldID(raw *rawField) string {
	if raw.id.invalid {
		return ""
	}
	if !raw.id.present() {
		w.errorf(raw.at, "", `the field has no "id"`)
		return ""
	}
	id := raw.id.text
	if first, dup := w.ranks[id]; dup {
		w.errorf(raw.id.at, "", "field %s appears twice, first on line %d", quote(id), w.lineOf(w.fieldSpots[first]))
		return id
	}
	// An invalid id is recorded, too, so that it is reported once, here, and not
	// as unknown wherever it is used.
	w.ranks[id] = len(w.form.Fields)
	if reason := checkFieldID(id); reason != "" {
		w.errorf(raw.id.at, fieldIDHint, "id %s %s", quote(id), reason)
	}
	return id
}

func (w *builder) fieldType(raw *rawField) forms.FieldType {
	t := forms.FieldType(raw.typ.text)
	switch {
	case raw.typ.invalid:
	case !raw.typ.present():
		w.errorf(raw.at, oneOf(forms.FieldTypes), `the field has no "type"`)
	case !slices.Contains(forms.FieldTypes, t):
		w.errorf(raw.typ.at, wordHint(raw.typ.text, forms.FieldTypes), "unknown type %s", quote(raw.typ.text))
	}
	return t
}

func (w *builder) label(raw *rawField, id string) string {
	label := strings.TrimSpace(raw.label.text)
	if !raw.label.present() || label == "" {
		return id
	}
	if reason := checkText(label); reason != "" {
		w.errorf(raw.label.at, "", "label %s %s", quote(label), reason)
	}
	return label
}

// help may have several lines, unlike a label.
func (w *builder) help(raw *rawField) string {
	help := strings.TrimSpace(raw.help.text)
	if reason := checkText(strings.ReplaceAll(help, "\n", " ")); reason != "" {
		w.errorf(raw.help.at, "", "help %s %s", quote(help), reason)
	}
	return help
}

func (w *builder) validation(raw *rawField, f *forms.Field) {
	switch {
	case raw.options != nil:
		w.options(raw, f)
	case raw.validate.written():
		f.Validation = w.chosenValidation(raw, f)
	case f.Type == forms.Date:
		f.Validation = forms.DateOnly
	case f.Type == forms.File:
		f.Validation = forms.FileName
	case f.Type == forms.Dropdown, f.Type == forms.Radio:
		w.warnf(raw.at, "add options", "%s %s without options: any text will be accepted", f.Type, quote(f.ID))
	}
}

func (w *builder) chosenValidation(raw *rawField, f *forms.Field) forms.Validation {
	v := forms.Validation(raw.validate.text)
	switch {
	case raw.validate.invalid:
	case raw.validate.null:
		w.errorf(raw.validate.at, oneOf(forms.Validations), "validate has no value")
	case !slices.Contains(forms.Validations, v):
		w.errorf(raw.validate.at, wordHint(raw.validate.text, forms.Validations), "unknown validation %s", quote(raw.validate.text))
	case f.Type == forms.Date && v != forms.DateOnly, f.Type == forms.File && v != forms.FileName:
		w.warnf(raw.validate.at, "leave validate out", "a %s never passes the validation %s: nobody can fill in this field", f.Type, v)
	}
	return v
}

func (w *builder) options(raw *rawField, f *forms.Field) {
	list := raw.options
	switch {
	case f.Type == forms.Date || f.Type == forms.File:
		w.errorf(list.at, "", "a field of type %s can't have options", f.Type)
	case raw.validate.written():
		w.errorf(raw.validate.at, "leave validate out", "a field with options can't have validate: its options are its validation")
	case len(list.values) > MaxOptions:
		w.errorf(list.at, "", "the field has more than %d options", MaxOptions)
		return
	}
	seen := map[string]bool{}
	for _, v := range list.values {
		w.checkListValue(v, "option")
		if seen[v.text] {
			w.warnf(v.at, "", "option %s appears twice", quote(v.text))
		}
		seen[v.text] = true
		f.Options = append(f.Options, v.text)
	}
	f.Validation = forms.OneOf
	if f.MultiValue() {
		f.Validation = forms.AnyOf
	}
}

// checkListValue checks an option, or a value in the list of a rule. Both are
// joined with forms.Separator.
func (w *builder) checkListValue(v value, what string) {
	reason, hint := checkText(v.text), ""
	switch {
	case v.null, strings.TrimSpace(v.text) == "":
		w.errorf(v.at, "put it into quotes if it is a text", "the %s is empty", what)
		return
	case strings.Contains(v.text, forms.Separator):
		reason, hint = `contains ";", which separates values`, "use another character"
	}
	if reason != "" {
		w.errorf(v.at, hint, "%s %s %s", what, quote(v.text), reason)
	}
}
