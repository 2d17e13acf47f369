package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/service"
)

// formView is a form as it is shown to be filled in.
type formView struct {
	ID      string     // of its element, and prefix of the ids of its controls
	Action  string     // where it is sent
	Submit  string     // the word on its button
	Cancel  string     // where its link "Cancel" leads; "" without one
	Preview bool       // it can't be sent
	Draft   string     // what drafts.js calls it; "" if the browser stores no draft of it
	Typed   bool       // it shows what was typed before
	Hidden  url.Values // the controls that are no questions; see keyControl
	Errors  []errorLine
	Retired []retiredAnswer
	Intro   linkedText

	Fixed      string      // JSON of the values that count for conditions and can't be set, by field id; "" for none
	Definition template.JS // for the module that shows and hides questions; "" without conditions
	Required   bool        // some question needs an answer
	Sections   []sectionView
}

// hiddenValue is the name and value of a hidden control.
type hiddenValue struct{ Name, Value string }

// hiddenValues are those of a query, by name.
func hiddenValues(query url.Values) (list []hiddenValue) {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			list = append(list, hiddenValue{name, value})
		}
	}
	return list
}

// sectionView is a section with its questions, or a question that is in none.
type sectionView struct {
	Name      string // "" for a question in no section
	Title     string // "" shows none
	Lang      string
	Hidden    bool
	Questions []*question
	Head      []choice // of a grid that is shown as a table: its columns; empty for other sections
}

// errorSummary is the box above a form that was refused. Browsers let no page within
// that of another site take the focus by itself.
type errorSummary struct {
	Errors []errorLine
	Framed bool
}

// errorLine is one line of the error summary.
type errorLine struct {
	Href string // the element at fault; "" if it is the form as a whole
	Text string
}

// question is a field as it is shown.
type question struct {
	*forms.Field
	ElementID   string
	Lang        string // of what the author wrote, or ""
	Value       string // of a file field the names of stored files, joined as in the API
	Kind        string // of control: text, textarea, select, radios, checkboxes, status, file
	InputType   string // of kind text
	InputMode   string
	Choices     []choice
	Hidden      bool
	Locked      bool // it is not on the form
	Bounds      string
	MinDay      string // for a browser's calendar, as MaxDay
	MaxDay      string
	Error       string
	DescribedBy string
	AcceptList  string
	Limit       string // of the size of a file, for people
	MaxBytes    int64  // the same
	Stored      []fileLink
	NotStored   string // names of files that were sent and have to be chosen again
	MarkShown   bool   // a hidden control says that it was shown; see received.answered
}

// choice is an option of a question, or of a select of the filter form.
type choice struct {
	ElementID, Value, Label string
	Chosen                  bool
	Color                   string // of a status
	Lang                    string // language tag of the label, if it is an author's in a list with others
}

// fileLink is a stored file.
type fileLink struct {
	Name, Path, Size string
	Removed          bool // it is to go
}

// filling is what a form is filled in with.
type filling struct {
	lang      *lang.Language
	values    []string // by rank, joined as they are stored
	why       refusal
	retired   []retiredAnswer
	typed     bool                  // by the caller, before the page was made
	change    bool                  // it is of a submission that is changed
	files     map[string][]fileLink // by field id
	notStored map[string]string     // by field id: names of files that were sent
	maxFile   int64                 // the largest file that the server takes
	today     string                // as 2006-01-02
	tag       string                // language tag of the page in a preview, or ""
	access    *service.Access       // of the caller; nil in a preview
}

// manyControls is how many fields and options a form has whose page is surely
// large.
const manyControls = 500

// formView shows a form to the caller. A large form takes its slot before it is
// laid out, which needs more memory than its HTML.
func (c *call) formView(id string, f *forms.Form, with filling) (*formView, error) {
	controls := len(f.Fields)
	for _, field := range f.Fields {
		controls += len(field.Options)
	}
	if controls > manyControls {
		if err := c.HoldBody(); err != nil {
			return nil, err
		}
	}
	with.lang, with.maxFile, with.today = c.Lang, c.Site.Backend.Service.MaxFile(), c.Site.Backend.Service.Today()
	sections, questions := layOut(id, f, with)
	language := cmp.Or(f.Lang, with.tag)
	if with.access != nil {
		language = with.access.Lang()
	}
	return &formView{
		Intro: linkedText{linkText(f.Intro), language, c.Framed}, ID: id, Sections: sections,
		Errors: summarize(questions, with), Retired: with.retired, Typed: with.typed,
		Definition: conditionsOf(f), Fixed: fixedValues(questions),
		Required: slices.ContainsFunc(questions, func(q *question) bool { return q.Required && !q.Locked }),
	}, nil
}

// layOut makes the questions of a form, by rank, and the sections that they are in.
func layOut(id string, f *forms.Form, with filling) (views []sectionView, all []*question) {
	shown := f.Visible(with.values)
	b := questionBuilder{form: f, fields: f.Index(), with: with, extra: markup.MaxOptions}
	for rank := range f.Fields {
		all = append(all, b.question(rank, id+"-"+strconv.Itoa(rank), !shown[rank]))
	}
	sections := f.Sections
	for rank := 0; rank < len(all); {
		view, count, grid := sectionView{Hidden: true}, 1, false
		if len(sections) > 0 && sections[0].First == rank {
			view.Name, view.Title, view.Lang = sections[0].Name, sections[0].Title, all[rank].Lang
			count, grid, sections = sections[0].Count, sections[0].Grid, sections[1:]
		}
		for _, q := range all[rank : rank+count] {
			if !q.Locked {
				view.Questions, view.Hidden = append(view.Questions, q), view.Hidden && q.Hidden
			}
		}
		if grid {
			view.Head = gridHead(view.Questions)
		}
		if len(view.Questions) > 0 {
			views = append(views, view)
		}
		rank += count
	}
	return views, all
}

// gridHead are the columns of a grid. There are none if they are too many, or if a
// question has an answer that is no option any more: its column would be that of another.
func gridHead(questions []*question) (head []choice) {
	for _, q := range questions {
		if len(q.Options) > markup.MaxColumns || q.Value != "" && !slices.Contains(q.Options, q.Value) {
			return nil
		}
		if len(q.Choices) > len(head) { // those of an optional question have one more
			head = q.Choices
		}
	}
	return head
}

// fixedValues are the values of questions that are not on the form.
func fixedValues(questions []*question) string {
	fixed := map[string]string{}
	for _, q := range questions {
		if q.Locked && q.Value != "" {
			fixed[q.ID] = q.Value
		}
	}
	if len(fixed) == 0 {
		return ""
	}
	text, _ := json.Marshal(fixed) // strings can be encoded
	return string(text)
}

// conditionsOf is the definition of a form with conditions for the module that
// shows and hides questions. No "<" in it may end its element.
func conditionsOf(f *forms.Form) template.JS {
	if !slices.ContainsFunc(f.Fields, func(f *forms.Field) bool { return f.Condition != nil }) {
		return ""
	}
	text := bytes.ReplaceAll(encode.Form(f), []byte("<"), []byte(`\u003c`))
	return template.JS(text) //nolint:gosec // JSON of our own, which can't end its element
}

// questionBuilder makes the questions of a form.
type questionBuilder struct {
	form   *forms.Form
	fields forms.Index
	with   filling
	extra  int // how many more values are shown that are no options
}

func (b *questionBuilder) question(rank int, id string, hidden bool) *question {
	f, with := b.form.Fields[rank], b.with
	q := &question{
		Field: f, ElementID: id, Value: with.values[rank], Hidden: hidden, Lang: cmp.Or(b.form.Lang, with.tag),
		Stored: with.files[f.ID], Locked: with.access != nil && !with.access.MaySet(f),
	}
	if with.access != nil {
		q.Lang = with.access.Lang()
	}
	if with.why.invalid != nil {
		if fault := with.why.invalid.Fields[f.ID]; fault != nil {
			q.Error = with.lang.Say(named(q.Label, f.WithLabels(fault))) // as the API says it, with labels
		}
	}
	if q.Error == "" { // which says what to do with the file
		q.NotStored = strings.ReplaceAll(with.notStored[f.ID], forms.Separator, with.lang.Text(", "))
	}
	switch {
	case q.Type == forms.Textbox:
		q.Kind = "textarea"
	case q.Type == forms.File:
		q.fileControl(with)
	case len(q.Options) > 0 && choiceKinds[q.Type] != "":
		q.Kind, q.Choices = choiceKinds[q.Type], b.choices(q)
	default: // without options, any text is taken
		q.textControl()
	}
	b.setBounds(q)
	q.MarkShown = q.Kind == "checkboxes" && (with.change || f.Default != "")
	describe := func(shown bool, suffix string) {
		if shown {
			q.DescribedBy = strings.TrimPrefix(q.DescribedBy+" "+id+suffix, " ")
		}
	}
	describe(f.Help != "", "-help")
	describe(strings.Join(f.Scale, "") != "", "-ends")
	describe(q.Limit != "" || q.Bounds != "", "-hint")
	describe(q.Needed(), "-needed")
	describe(q.Error != "", "-error")
	describe(q.NotStored != "", "-again")
	return q
}

// Earlier tells drafts.js what the question and its options were called before, as JSON; ""
// if they were not renamed.
func (q *question) Earlier() string {
	if q.Was == nil && q.ValueWas == nil {
		return ""
	}
	was := struct {
		IDs    []string          `json:"ids"`
		Values map[string]string `json:"values"`
	}{q.IDs()[1:], q.ValueWas}
	if was.Values == nil {
		was.Values = map[string]string{}
	}
	text, _ := json.Marshal(was) // strings can be encoded
	return string(text)
}

// Needed reports whether a text has to say that the question needs an answer.
// HTML has no way to require one of several checkboxes.
func (q *question) Needed() bool { return q.Required && q.Kind == "checkboxes" }

var choiceKinds = map[forms.FieldType]string{
	forms.Dropdown: "select", forms.Radio: "radios", forms.Checkbox: "checkboxes", forms.Status: "status",
}

func (q *question) textControl() {
	q.Kind, q.InputType = "text", "text"
	switch q.Validation {
	case forms.Email:
		q.InputType = "email"
	case forms.Numeric:
		if notNegative(q.Min) {
			q.InputMode = "decimal" // on some phones it has no key for a minus
		}
	case forms.DateOnly:
		// A browser's date field can't show what is no date.
		if q.Value == "" || forms.IsDay(q.Value) {
			q.InputType = "date"
		}
	}
}

// notNegative reports whether a bound keeps numbers from being negative.
func notNegative(least *forms.Bound) bool {
	return least != nil && forms.IsDecimal(least.Value) && !strings.HasPrefix(least.Value, "-")
}

// MaxFiles is how many files a question takes.
func (q *question) MaxFiles() int { return service.MaxFilesPerField }

// AcceptedTypes are the types and extensions by which a browser chooses files.
func (q *question) AcceptedTypes() string { return strings.Join(q.Accept, ", ") }

func (q *question) fileControl(with filling) {
	maxFile := with.maxFile
	q.Kind = "file"
	q.AcceptList = with.lang.Say(service.FileKinds(q.Field))
	if q.MaxSize > 0 {
		maxFile = min(maxFile, q.MaxSize)
	}
	q.Limit, q.MaxBytes = with.lang.Say(forms.SizeText(maxFile)), maxFile
}

// setBounds says which answers a question takes. A browser's calendar leaves out other
// days.
func (b *questionBuilder) setBounds(q *question) {
	if q.MaxLength > 0 {
		q.Bounds = b.with.lang.Say(forms.SayN("At most {0} character.", "At most {0} characters.", q.MaxLength))
	}
	least, firstDay := b.bound(q.Min)
	most, lastDay := b.bound(q.Max)
	atLeast, atMost := forms.Say("At least {0}.", least), forms.Say("At most {0}.", most)
	between := forms.Say("From {0} to {1}.", least, most)
	if q.Validation == forms.DateOnly {
		atLeast, atMost = forms.Say("Not before {0}.", least), forms.Say("Not after {0}.", most)
		between = forms.Say("days|From {0} to {1}.", least, most)
		q.MinDay, q.MaxDay = firstDay, lastDay
	}
	switch {
	case least != "" && most != "":
		q.Bounds = b.with.lang.Say(between)
	case least != "":
		q.Bounds = b.with.lang.Say(atLeast)
	case most != "":
		q.Bounds = b.with.lang.Say(atMost)
	}
}

// bound is a bound in words, and its value if that does not depend on answers.
func (b *questionBuilder) bound(bound *forms.Bound) (words, value string) {
	switch {
	case bound == nil:
		return "", ""
	case bound.Value == forms.Today:
		return b.with.lang.DayText(b.with.today), b.with.today
	case bound.FieldID == "":
		return b.with.lang.Value(bound.Value), bound.Value
	}
	if rank := b.fields.Rank(bound.FieldID); rank >= 0 {
		words = b.with.lang.Text("“{0}”", b.form.Fields[rank].Label)
	}
	return words, ""
}

// choices are the options. A stored value that is no longer an option is still
// offered, so that saving does not lose it. An answer may hold hundreds of
// thousands of such values, so the form shows a limited number.
func (b *questionBuilder) choices(q *question) (choices []choice) {
	chosen := []string{q.Value}
	if q.MultiValue() {
		chosen = strings.Split(q.Value, forms.Separator)
	}
	isChosen, isOption, values := stringSet(chosen), stringSet(q.Options), slices.Clone(q.Options)
	for _, value := range chosen {
		if value != "" && !isOption[value] && b.extra > 0 {
			b.extra--
			values = append(values, value)
		}
	}
	if !q.Required && (q.Type == forms.Radio || q.Type == forms.Status) {
		values = append(values, "") // a radio button can't be released
	}
	for i, value := range values {
		choices = append(choices, choice{
			ElementID: q.ElementID + "-" + strconv.Itoa(i), Value: value,
			Label:  cmp.Or(q.LabelOf(value), b.with.lang.Text("No answer")),
			Chosen: value != "" && isChosen[value], Color: q.ColorOf(value),
		})
	}
	if len(choices) > 0 { // a link to the question leads to its first choice
		choices[0].ElementID = q.ElementID
	}
	return choices
}

// summarize lists what is wrong with the form as a whole, then in the order of the
// questions, and then all else.
func summarize(questions []*question, with filling) (lines []errorLine) {
	if with.why.reason != nil {
		lines = append(lines, errorLine{Text: with.lang.Say(with.why.reason)})
	}
	seen := map[string]bool{}
	for _, r := range with.retired {
		lines = append(lines, errorLine{
			Href: "#" + r.ElementID, Text: with.lang.Text("“{0}” is no longer part of the form", r.Label),
		})
		seen[r.FieldID] = true
	}
	for _, q := range questions {
		if q.Error != "" {
			line := errorLine{Href: "#" + q.ElementID, Text: q.Error}
			if q.Locked {
				line.Href = ""
			}
			lines = append(lines, line)
		}
		seen[q.ID] = true
	}
	if with.why.invalid != nil {
		for _, m := range otherErrors(with.why.invalid, seen) {
			lines = append(lines, errorLine{Text: upperFirst(with.lang.Say(m))})
		}
	}
	return lines
}

// named is a message about a field. Those about files name it already.
func named(field any, fault *forms.Message) *forms.Message {
	if fault.Text == "{0}" {
		return fault
	}
	return forms.Named(forms.Say("“{0}”", field), fault)
}

// otherErrors are those of fields that were not seen, and general ones.
func otherErrors(invalid *forms.Invalid, seen map[string]bool) (messages []*forms.Message) {
	for _, id := range slices.Sorted(maps.Keys(invalid.Fields)) {
		if !seen[id] {
			messages = append(messages, named(id, invalid.Fields[id]))
		}
	}
	return append(messages, invalid.Errors...)
}

// upperFirst makes a message a sentence.
func upperFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}
