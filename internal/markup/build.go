package markup

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

// Keys are all keys that authors write, by the mapping that has them, in the order of the documentation.
var Keys = map[string][]string{
	"form": formKeys, "field": fieldKeys, "option": optionKeys, "section": sectionKeys, "page": metaKeys,
}

var (
	formKeys = []string{
		"form", "title", "intro", "anonymous", "oneSubmission", "opens", "closes", "limit", "keep", "lockIf", "withdraw",
		"submitterMail", "thanks", "notify", "fields",
	}
	fieldKeys = []string{
		"id", "was", "type", "label", "help", "required", "options", "scale",
		"validate", "min", "max", "maxLength", "default", "by", "accept", "maxSize", "showIf",
	}
	optionKeys  = []string{"value", "label", "color", "was"}
	sectionKeys = []string{"section", "title", "grid", "showIf", "fields"}
)

const (
	formHint   = `begin with "form: " and an id, then "fields:"`
	fieldsHint = `list the fields, each with "- id: …" and "type: …"`
)

// formReader checks what an author wrote, and makes a form of it.
type formReader struct {
	*reader
	form       *forms.Form
	lang       string   // the language that is read; "" the first time
	languages  []string // that texts have, as they are written
	at         int
	hostIDs    map[*yaml.Node]string // macro ids that the host gives fields
	ranks      map[string]int        // by field id
	offsets    []int                 // of the fields, by rank
	options    []map[string]bool     // of the fields, by rank
	sections   map[string]int        // offsets by name
	conditions []*conditionReader
	references []boundReference
	earlierIDs []earlierID
	unknown    map[string]int // by id of a field that does not exist: the index of its diagnostic
	rules      int
	scans      map[int]int // by rank: rules that read all of the field's value
}

// readLanguage reads a form in one language, see readForm, and returns those that its texts have.
func (p *reader) readLanguage(root *yaml.Node, block *rawBlock, lang string) (form *forms.Form, languages []string) {
	if !p.checkKeys(root, "the form", formHint, formKeys, nil) {
		return nil, nil
	}
	f := &forms.Form{PageID: p.pageID}
	r := &formReader{
		reader: p, form: f, lang: lang, at: root.Column, hostIDs: block.hostIDs,
		ranks: map[string]int{}, sections: map[string]int{}, unknown: map[string]int{}, scans: map[int]int{},
	}
	noun, idKey := "the block", "form"
	if block.macros != nil {
		noun, idKey = "the form macro", "formId"
	}
	f.ID, block.At = r.name(root, "form", noun, idKey)
	f.MacroID = cmp.Or(block.hostID, forms.MacroID(p.pageID, f.ID))
	f.Anonymous = r.boolean(root, "anonymous")
	f.OneSubmission = r.boolean(root, "oneSubmission")
	f.Title, f.Intro, f.Thanks = r.shownText(root, "title"), r.shownText(root, "intro"), r.shownText(root, "thanks")
	f.Limit = r.wholeNumber(root, "limit", MaxLimit)
	f.Keep, block.KeepAt = r.keep(root)
	r.opening(root)
	r.notify(root)
	if block.macros == nil || valueOf(root, "fields") != nil { // a form macro without fields was reported
		r.fields(root, "form")
	}
	block.FieldsAt = r.offsets
	for _, c := range r.conditions {
		r.condition(c)
	}
	r.decisions(root)
	for _, b := range r.references {
		r.checkReference(b)
	}
	r.checkEarlierIDs()
	f.NameFields()
	r.warnOfEditorsOnly()
	r.findCycles()
	if !p.failed {
		r.measure()
	}
	return f, r.languages
}

// measure refuses a form whose definition is too large for an answer of the API.
func (r *formReader) measure() {
	size := DefinitionSize(r.form)
	switch {
	case size > MaxDefinitionBytes:
		r.errorf(r.at, "split the form, or shorten its conditions and options",
			"the form's definition has %d bytes, more than the %d allowed: "+
				"a section's condition counts once for each of its fields, and a list as often as aliases repeat it",
			size, MaxDefinitionBytes)
	case r.defined+size > MaxPageDefinitionBytes:
		r.errorf(r.at, "move forms to other pages",
			"the definitions of the page's forms have more than %d bytes up to this one", MaxPageDefinitionBytes)
	default:
		r.defined += size
	}
}

// fields reads the fields of the form or of a section. Sections don't nest.
func (r *formReader) fields(m *yaml.Node, noun string) {
	list := valueOf(m, "fields")
	if list == nil {
		r.errorf(m.Column, fieldsHint, `the %s has no "fields"`, noun)
		return
	}
	for _, n := range r.items(list, "fields", fieldsHint) {
		isSection := valueOf(n, "section") != nil
		switch {
		case len(r.form.Fields) >= MaxFields:
			r.errorf(r.at, "split the form", "the form has more than %d fields", MaxFields)
			return
		case isSection && noun == "section":
			r.errorf(n.Column, "put it after this section", "a section inside a section")
		case isSection:
			r.section(n)
		default:
			r.field(n, noun == "section")
		}
	}
}

func (r *formReader) section(n *yaml.Node) {
	r.checkKeys(n, "a section", oneOf(sectionKeys), sectionKeys, nil)
	id, at := r.name(n, "section", "the section", "section")
	if earlier, dup := r.sections[id]; dup && id != "" {
		r.errorf(at, "", "section %s appears twice, first on line %d", quote(id), r.line(earlier))
	} else {
		r.sections[id] = at
	}
	s := forms.Section{
		Name: id, Title: r.shownText(n, "title"), MacroID: forms.MacroID(r.pageID, r.form.ID, "section", id),
		First: len(r.form.Fields),
	}
	r.fields(n, "section")
	s.Count = len(r.form.Fields) - s.First
	s.Grid = r.grid(n, r.form.Fields[s.First:])
	s.Condition = r.addCondition(n, "section "+quote(id), s.First)
	if s.Count > 0 { // an empty one was reported
		r.form.Sections = append(r.form.Sections, s)
	}
}

// addCondition gives the condition of a mapping to the fields from rank first on. Its
// rules are read when all fields are known.
func (r *formReader) addCondition(m *yaml.Node, owner string, first int) *forms.Condition {
	showIf := valueOf(m, "showIf")
	if showIf == nil {
		return nil
	}
	c := &conditionReader{owner: owner, key: "showIf", node: showIf, first: first, end: len(r.form.Fields)}
	for _, f := range r.form.Fields[first:] {
		f.Condition = &c.Condition
	}
	r.conditions = append(r.conditions, c)
	return &c.Condition
}

// name reads the id of a form or the name of a section. Messages call its key shownKey.
func (r *formReader) name(m *yaml.Node, key, noun, shownKey string) (name string, at int) {
	n := r.requiredText(m, key, idHint, noun+" has no "+quote(shownKey))
	if n == nil {
		return "", 0
	}
	if reason := checkID(n.Value); reason != "" {
		r.errorf(n.Column, idHint, "%s %s %s", shownKey, quote(n.Value), reason)
	}
	return n.Value, n.Column
}

// opening reads when the form takes submissions.
func (r *formReader) opening(m *yaml.Node) {
	f := r.form
	f.Opens, f.Closes = r.moment(m, "opens"), r.moment(m, "closes")
	if f.Opens.IsZero() || f.Closes.IsZero() {
		return
	}
	// When a day begins depends on the server's zone, so days count as they are written.
	const day = len(time.DateOnly)
	opens := valueOf(m, "opens")
	never := opens.Value[:day] > valueOf(m, "closes").Value[:day]
	if f.Opens.Day == "" && f.Closes.Day == "" {
		never = !f.Opens.Time.Before(f.Closes.Time)
	}
	if never {
		r.errorf(opens.Column, "exchange opens and closes, or correct the year",
			"the form opens after it closes: nobody could submit it")
	}
}

func (r *formReader) moment(m *yaml.Node, key string) forms.Moment {
	n := r.text(m, key)
	switch {
	case n == nil:
		return forms.Moment{}
	case forms.IsDay(n.Value):
		return forms.Moment{Day: n.Value}
	}
	text := strings.Replace(strings.ToUpper(n.Value), " ", "T", 1)
	var t time.Time
	err := t.UnmarshalText([]byte(text))
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if err != nil {
			t, err = time.ParseInLocation(layout, text, r.zone)
		}
	}
	if err != nil || t.UTC().Year() < 1 || t.IsZero() {
		r.errorf(n.Column,
			fmt.Sprintf("write a day such as 2026-03-31, or a time in the zone %s such as 2026-03-31 18:00", r.zone),
			"%s %s is neither a day nor a time", key, quote(n.Value))
		return forms.Moment{}
	}
	return forms.Moment{Time: t.UTC()}
}

// keep reads how long submissions are kept.
func (r *formReader) keep(m *yaml.Node) (keep forms.Period, at int) {
	n := r.text(m, "keep")
	if n == nil {
		return forms.Period{}, 0
	}
	keep, err := forms.ParsePeriod(n.Value)
	if err != nil || n.Value == "" {
		r.errorf(n.Column, "write a whole number of days, weeks, months or years, as in 90 days, or leave keep out",
			"keep must be from 1 day to 50 years, not %s", quote(n.Value))
	}
	return keep, n.Column
}
