package web

import (
	"cmp"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/request"
)

// filterForm is the form above the results that narrows them.
type filterForm struct {
	Action string
	Search string
	Fields []choice
	Rule   *filterRule // nil until a field is chosen
}

// filterRule is the controls of a filter by one field.
type filterRule struct {
	Field     string
	Operators []choice
	Options   []choice // of which several can be chosen; nil if the value is typed
	Input     string   // type of the control that it is typed into
	InputMode string   // of that control
	Value, To string   // of a filter that can't be added
	Range     bool     // To can be typed
	Focus     bool     // the field was chosen just now
}

// activeFilter is a filter that holds, with the path that lifts it. Lang and ValueLang are the language tags of what
// an author wrote, or "".
type activeFilter struct{ Label, Lang, Operator, Value, ValueLang, Remove string }

// filterKind is how a column can be filtered by.
type filterKind struct {
	input     string                    // type of the control for a value that is typed
	operators []forms.Operator          // the usual one first
	words     map[forms.Operator]string // where they are not operatorWords
	field     *forms.Field              // an empty one for other columns
}

// operatorWords are the operators as people say them: messages.
var operatorWords = map[forms.Operator]string{
	forms.Equals: "filter|is", forms.NotEquals: "filter|is not",
	forms.InList: "filter|is one of (separated by ;)", forms.Contains: "filter|contains",
	forms.Between: "filter|is between", thisMonth: "filter|is this month",
	lastMonth: "filter|is last month", lastWeek: "filter|is in the last 7 days",
	forms.Empty: "filter|is empty", forms.NotEmpty: "filter|is not empty",
	forms.GreaterThan: "filter|is above or after", forms.LessThan: "filter|is below or before",
}

var (
	numberWords = map[forms.Operator]string{forms.GreaterThan: "filter|is above", forms.LessThan: "filter|is below"}
	dateWords   = map[forms.Operator]string{
		forms.GreaterThan: "filter|is after", forms.LessThan: "filter|is before",
	}
	choiceWords = map[forms.Operator]string{
		forms.InList: "filter|is one of", forms.GreaterThan: "filter|is above", forms.LessThan: "filter|is below",
	}
	manyWords = map[forms.Operator]string{
		forms.Contains: "filter|includes", forms.Equals: "filter|is exactly",
		forms.NotEquals: "filter|is not exactly",
	}

	comparisons = []forms.Operator{forms.Equals, forms.NotEquals, forms.GreaterThan, forms.LessThan, forms.Between}
	timeOps     = append(slices.Clip(comparisons), thisMonth, lastMonth, lastWeek)
	orderedOps  = append(slices.Clip(comparisons), forms.Empty, forms.NotEmpty)
	textOps     = []forms.Operator{
		forms.Contains, forms.Equals, forms.NotEquals, forms.InList, forms.Empty, forms.NotEmpty,
	}
)

// The kinds of columns. Every submission has an id and a time, so these are never empty.
var (
	idKind     = filterKind{input: "number", operators: comparisons, words: numberWords}
	timeKind   = filterKind{input: "date", operators: timeOps, words: dateWords}
	numberKind = filterKind{input: "text", operators: orderedOps, words: numberWords}
	dateKind   = filterKind{
		input: "date", operators: append(slices.Clip(timeOps), forms.Empty, forms.NotEmpty), words: dateWords,
	}
	textKind = filterKind{input: "text", operators: textOps}
	fileKind = filterKind{input: "text", operators: []forms.Operator{forms.Contains, forms.NotEmpty, forms.Empty}}
	oneKind  = filterKind{
		operators: []forms.Operator{forms.InList, forms.NotEquals, forms.Empty, forms.NotEmpty}, words: choiceWords,
	}
	gradeKind = filterKind{
		operators: []forms.Operator{
			forms.InList, forms.NotEquals, forms.GreaterThan, forms.LessThan, forms.Empty, forms.NotEmpty,
		},
		words: choiceWords,
	}
	manyKind = filterKind{
		operators: []forms.Operator{forms.Contains, forms.Equals, forms.Empty, forms.NotEmpty}, words: manyWords,
	}
)

func filterKindOf(f *forms.Form, id string) filterKind {
	kind, field := textKind, cmp.Or(f.Field(id), &forms.Field{})
	notOrdered := func(option string) bool { return !forms.Ordered(option) }
	switch {
	case id == forms.ColumnID:
		kind = idKind
	case query.IsTimeColumn(id):
		kind = timeKind
	case field.MultiValue():
		kind = manyKind
	case len(field.Options) > 0 && slices.ContainsFunc(field.Options, notOrdered):
		kind = oneKind
	case len(field.Options) > 0:
		kind = gradeKind
	case field.Type == forms.File:
		kind = fileKind
	case field.Validation == forms.Numeric:
		kind = numberKind
	case field.Validation == forms.DateOnly:
		kind = dateKind
	}
	kind.field = field
	return kind
}

func (k filterKind) word(operator forms.Operator) string {
	return cmp.Or(k.words[operator], operatorWords[operator])
}

func newFilterForm(f *forms.Form, v *resultsView) filterForm {
	form := filterForm{Action: v.path, Search: v.query.Get("q")}
	add := func(id, label string) {
		form.Fields = append(form.Fields, choice{
			Value: id, Label: clipLabel(label), Chosen: id == v.added.Field, Lang: v.columnLang(f, id),
		})
	}
	for _, field := range f.Fields {
		add(field.ID, field.Label)
	}
	columns := []string{forms.ColumnTimestamp, forms.ColumnChanged, forms.ColumnUsername, forms.ColumnID}
	if f.Anonymous {
		columns = columns[:2]
	}
	for _, id := range columns {
		add(id, v.lang.Say(metadataLabels[id]))
	}
	if v.added.Field == "" {
		return form
	}
	kind, added := filterKindOf(f, v.added.Field), v.added
	rule := &filterRule{
		Field: added.Field, Input: kind.input, Value: strings.Join(added.Values, forms.Separator), To: added.To,
		Range: slices.Contains(kind.operators, forms.Between), Focus: added.Operator == "",
	}
	if least := kind.field.Min; kind.field.Validation == forms.Numeric && (least == nil || notNegative(least)) {
		rule.InputMode = "decimal" // where no bound tells of negative numbers, few people look for them
	}
	form.Rule = rule
	for _, o := range kind.operators {
		rule.Operators = append(rule.Operators, choice{
			Value: string(o), Label: v.lang.Text(kind.word(o)), Chosen: string(o) == added.Operator,
		})
	}
	for _, o := range kind.field.Options {
		label := clipLabel(kind.field.LabelOf(o))
		rule.Options = append(rule.Options, choice{
			Value: o, Label: label, Chosen: slices.Contains(added.Values, o), Lang: v.tag,
		})
	}
	return form
}

// active lists the filters of the address.
func (v *resultsView) active(f *forms.Form) []activeFilter {
	var active []activeFilter
	for _, parameter := range hiddenValues(v.selection()) {
		name, value := parameter.Name, parameter.Value
		filter := activeFilter{Label: name, Value: value, Remove: v.without(name, value)}
		id, operator, isFilter := request.ParseFilter(name)
		switch {
		case name == "username":
			filter.Label, filter.Operator = v.lang.Text("column|Sent by"), v.lang.Text("filter|is")
		case name == "q":
			filter.Label = v.lang.Text("Search")
		case isFilter:
			rule := forms.Rule{FieldID: id, Operator: forms.Operator(operator), Value: value}
			f.NameRule(&rule)
			kind := filterKindOf(f, id)
			filter.Label, filter.Lang = v.columnLabel(f, id), v.columnLang(f, id)
			filter.Operator, filter.Value = kind.describe(v.lang, operator, rule.Value)
			if len(kind.field.Options) > 0 {
				filter.ValueLang = v.tag
			}
		}
		active = append(active, filter)
	}
	return active
}

// describe says a filter in words.
func (k filterKind) describe(l *lang.Language, operator, value string) (words, shown string) {
	words = cmp.Or(l.Text(k.word(forms.Operator(operator))), operator)
	show := k.field.LabelOf
	if k.input == "date" {
		show = l.DayText
	}
	from, to, _ := strings.Cut(value, forms.Separator)
	switch {
	case isUnary(operator):
		return words, ""
	case operator == string(forms.InList):
		words = l.Text("filter|is one of")
		if !strings.Contains(value, forms.Separator) {
			words = l.Text("filter|is")
		}
		values := strings.Split(value, forms.Separator)
		for i, value := range values {
			values[i] = show(value)
		}
		shown = strings.Join(values, l.Text(", "))
		if strings.HasSuffix(value, forms.Separator) { // as in links of the home page
			shown += l.Text("no answer")
		}
		return words, shown
	case operator != string(forms.Between):
		return words, show(value)
	case from == "":
		return l.Text("filter|is at most"), show(to)
	case to == "":
		return l.Text("filter|is at least"), show(from)
	default:
		return words, l.Text("range|{0} and {1}", show(from), show(to))
	}
}

// elementOf is the control that a message is about; "" if it is none.
func (form filterForm) elementOf(message string) string {
	switch {
	case message == noFieldMessage:
		return "#filter-field"
	case strings.HasPrefix(message, valueMessage):
		return "#filter-value"
	case strings.HasPrefix(message, "q "):
		return "#filter-q"
	default:
		return ""
	}
}
