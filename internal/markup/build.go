package markup

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

// Keys are all keys that authors write, by the mapping that has them, in the order of the documentation.
var Keys = map[string][]string{"form": formKeys, "field": fieldKeys, "section": sectionKeys, "page": metaKeys}

var (
	formKeys  = []string{"form", "title", "anonymous", "oneSubmission", "opens", "closes", "limit", "thanks", "notify", "fields"}
	fieldKeys = []string{
		"id", "type", "label", "help", "required", "options",
		"validate", "min", "max", "maxLength", "default", "by", "accept", "maxSize", "showIf",
	}
	sectionKeys = []string{"section", "title", "showIf", "fields"}
)

const (
	formHint   = `begin with "form: " and an id, then "fields:"`
	fieldsHint = `list the fields, each with "- id: …" and "type: …"`
)

// owner is the field or section that a condition belongs to. The condition
// applies to count fields, beginning with rank first.
type owner struct {
	at           int
	showIf       *yaml.Node
	condition    *forms.Condition
	needs        []need
	section      string // "" for a field
	first, count int
}

// need is a field that a rule looks at.
type need struct{ at, rank int }

func (o *owner) appliesTo(rank int) bool { return o.first <= rank && rank < o.first+o.count }

func (o *owner) name(f *forms.Form) string {
	if o.section != "" || o.count != 1 {
		return "section " + quote(o.section)
	}
	return "field " + quote(f.Fields[o.first].ID)
}

// builder checks what an author wrote, and makes a form of it.
type builder struct {
	*decoder
	form       *forms.Form
	at         int
	hostIDs    map[*yaml.Node]string // macro ids that the host gives fields
	ranks      map[string]int        // by field id
	offsets    []int                 // of the fields, by rank
	options    []map[string]bool     // of the fields, by rank
	sections   map[string]int        // offsets by name
	owners     []*owner
	references []boundReference
	rules      int
	scans      map[int]int // by rank: rules that read all of the field's value
}

// build checks a form and makes it of its mapping. It returns nil if root is no
// mapping. The form can be used unless the decoder has failed.
func (d *decoder) build(root *yaml.Node, block *rawBlock, pageID int64) *forms.Form {
	w := &builder{
		decoder:  d,
		form:     &forms.Form{PageID: pageID},
		hostIDs:  block.hostIDs,
		ranks:    map[string]int{},
		sections: map[string]int{},
		scans:    map[int]int{},
	}
	m := w.readMap(root, "the form", formHint, formKeys, nil)
	if m == nil {
		return nil
	}
	noun, idKey := "the block", "form"
	if block.macros != nil {
		noun, idKey = "the form macro", "formId"
	}
	w.at = m.at
	w.form.ID = w.name(w.text(m, "form"), m.at, noun, idKey)
	w.form.MacroID = cmp.Or(block.hostID, forms.FormMacroID(pageID, w.form.ID))
	w.form.Anonymous = w.boolean(m, "anonymous")
	w.form.OneSubmission = w.boolean(m, "oneSubmission")
	w.form.Title, w.form.Thanks = w.shownText(m, "title"), w.shownText(m, "thanks")
	w.opening(m)
	w.notify(m)
	if block.macros == nil || m.values["fields"] != nil { // a form macro without fields was reported
		w.fields(m, "form")
	}
	for _, o := range w.owners {
		w.condition(o)
	}
	for _, r := range w.references {
		w.checkReference(r)
	}
	w.warnOfEditorsOnly()
	w.findCycles()
	if !w.failed {
		w.measure(m.at)
	}
	return w.form
}

// measure refuses a form whose definition is too large for an answer of the API.
func (w *builder) measure(at int) {
	size := DefinitionSize(w.form)
	switch {
	case size > MaxDefinitionBytes:
		w.errorf(at, "split the form, or shorten its conditions and options",
			"the form's definition has %d bytes, more than the %d allowed: a section's condition counts once for each of its fields, and a list as often as aliases repeat it",
			size, MaxDefinitionBytes)
	case w.defined+size > MaxPageDefinitionBytes:
		w.errorf(at, "move forms to other pages", "the definitions of the page's forms have more than %d bytes up to this one", MaxPageDefinitionBytes)
	default:
		w.defined += size
	}
}

// fields reads the fields of the form or of a section. Sections don't nest.
func (w *builder) fields(m *yamlMap, noun string) {
	list := m.values["fields"]
	if list == nil {
		w.errorf(m.at, fieldsHint, `the %s has no "fields"`, noun)
		return
	}
	for _, n := range w.items(list, "fields", fieldsHint) {
		isSection := hasKey(n, "section")
		switch {
		case len(w.form.Fields) >= MaxFields:
			w.errorf(w.at, "split the form", "the form has more than %d fields", MaxFields)
			return
		case isSection && noun == "section":
			w.errorf(n.Column, "put it after this section", "a section inside a section")
		case isSection:
			w.section(n)
		default:
			w.field(n, noun == "section")
		}
	}
}

func (w *builder) section(n *yaml.Node) {
	m := w.readMap(n, "a section", oneOf(sectionKeys), sectionKeys, nil)
	name := w.text(m, "section")
	id := w.name(name, m.at, "the section", "section")
	if earlier, dup := w.sections[id]; dup && id != "" {
		w.errorf(name.at, "", "section %s appears twice, first on line %d", quote(id), w.line(earlier))
	} else {
		w.sections[id] = name.at
	}
	title := w.shownText(m, "title")
	first := len(w.form.Fields)
	w.fields(m, "section")
	w.addOwner(m, id, first)
	if count := len(w.form.Fields) - first; count > 0 { // an empty one was reported
		w.form.Sections = append(w.form.Sections, forms.Section{
			Name: id, Title: title, MacroID: forms.SectionMacroID(w.form.PageID, w.form.ID, id),
			First: first, Count: count, Condition: w.form.Fields[first].Condition,
		})
	}
}

// addOwner gives a condition to the fields from rank first on. Its rules are
// read when all fields are known.
func (w *builder) addOwner(m *yamlMap, section string, first int) {
	showIf := m.values["showIf"]
	if showIf == nil {
		return
	}
	o := &owner{
		at: m.keys["showIf"].Column, showIf: showIf, condition: &forms.Condition{},
		section: section, first: first, count: len(w.form.Fields) - first,
	}
	for rank := first; rank < len(w.form.Fields); rank++ {
		w.form.Fields[rank].Condition = o.condition
	}
	w.owners = append(w.owners, o)
}

// name checks the id of a form or the name of a section.
func (w *builder) name(v value, at int, noun, key string) string {
	if v.invalid {
		return ""
	}
	if !v.present() {
		w.errorf(at, idHint, "%s has no %q", noun, key)
		return ""
	}
	if reason := checkID(v.text); reason != "" {
		w.errorf(v.at, idHint, "%s %s %s", key, quote(v.text), reason)
	}
	return v.text
}

// boolean reads the value of a key that is true or false. Without the key it is
// false.
func (w *builder) boolean(m *yamlMap, key string) bool {
	v := w.text(m, key)
	switch {
	case !v.written, v.invalid, v.text == "false":
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

const momentHint = "write a day such as 2026-03-31, or a time with its zone such as 2026-03-31T18:00:00+02:00"

// opening reads when the form takes submissions, and how many.
func (w *builder) opening(m *yamlMap) {
	if v := w.text(m, "limit"); v.written && !v.invalid {
		w.form.Limit = w.wholeNumber(v, "limit", MaxLimit)
	}
	f := w.form
	f.Opens, f.Closes = w.moment(m, "opens"), w.moment(m, "closes")
	if f.Opens.IsZero() || f.Closes.IsZero() {
		return
	}
	// When a day begins depends on the server's zone, so days count as they are written.
	const day = len(time.DateOnly)
	never := m.values["opens"].Value[:day] > m.values["closes"].Value[:day]
	if f.Opens.Day == "" && f.Closes.Day == "" {
		never = !f.Opens.Time.Before(f.Closes.Time)
	}
	if never {
		w.errorf(m.values["opens"].Column, "exchange opens and closes, or correct the year", "the form opens after it closes: nobody could submit it")
	}
}

func (w *builder) moment(m *yamlMap, key string) forms.Moment {
	v := w.text(m, key)
	switch {
	case !v.written, v.invalid:
		return forms.Moment{}
	case isDay(v.text):
		return forms.Moment{Day: v.text}
	}
	var t time.Time
	if t.UnmarshalText([]byte(strings.ToUpper(v.text))) != nil || t.UTC().Year() < 1 || t.IsZero() {
		w.errorf(v.at, momentHint, "%s %s is neither a day nor a time", key, quote(v.text))
		return forms.Moment{}
	}
	return forms.Moment{Time: t.UTC()}
}

// wholeNumber reads a number from 1 to limit. What is wrong is reported, and gives 0.
func (w *builder) wholeNumber(v value, key string, limit int) int {
	n, err := strconv.Atoi(v.text)
	if err != nil || n < 1 || n > limit || v.text[0] == '+' || v.text[0] == '0' {
		w.errorf(v.at, "leave "+key+" out if there is none", "%s must be a whole number from 1 to %d, not %s", key, limit, quote(v.text))
		return 0
	}
	return n
}
