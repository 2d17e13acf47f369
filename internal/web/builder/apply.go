package builder

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

// control is a control of a value of a card or of the form: see kinds.yaml.
type control struct {
	name string
	path place
	how  string
	say  string
}

// show returns what the control has for a card or the form. A bound that is another answer has no control.
func (c Context) show(k control, t tree) (text string, shown bool) {
	v, found := t.Get(k.path)
	text, shown = v.Text, found || len(k.path) == 1
	switch k.how {
	case "line", "lines":
		text = c.words(v)
	case "box":
		if text = ""; isOn(v) {
			text = "true"
		}
	case "commas":
		text = strings.Join(texts(v), ", ")
	case "day":
		text, _ = c.moment(v)
	case "time":
		_, text = c.moment(v)
	default:
		shown = k.how == "plain" && v.Kind == markup.Leaf && !strings.Contains(text, "\n")
	}
	return text, shown
}

func (c Context) zone() *time.Location {
	if c.Options == nil {
		return time.UTC
	}
	return cmp.Or(c.Options.Zone, time.UTC)
}

func isOn(t tree) bool { return t.Text != "" && t.Text != "false" }

// moment returns a day and a time in the server's zone.
func (c Context) moment(t tree) (day, clock string) {
	text := strings.Replace(t.Text, "T", " ", 1)
	if at, err := time.Parse("2006-01-02 15:04:05Z07:00", text); err == nil {
		text = at.In(c.zone()).Format("2006-01-02 15:04")
	}
	day, clock, _ = strings.Cut(text, " ")
	return day, clock
}

// set returns the card or the form with the text of a control.
func (c Context) set(k control, t tree, text string) tree {
	value := leaf(text)
	switch k.how {
	case "line", "lines":
		if k.name != "title" || c.Opened != "" { // a new form has one title
			return c.say(t, text, k.path)
		}
	case "box":
		if k.name == "by" && text != "" {
			value = leaf("editors")
		}
	case "commas":
		value = leaves(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",; ", r) }))
	case "day", "time":
		day, clock := c.moment(get(t, k.path...))
		if k.how == "day" {
			day = text
		} else {
			clock = text
		}
		value = leaf(strings.TrimSpace(day + " " + clock))
	}
	return put(t, value, k.path...)
}

// apply applies controls of a card or of the form. A control that nobody changed leaves the text as it is.
func (c Context) apply(t tree, controls []control, prefix string, sent url.Values) tree {
	for _, k := range controls {
		shown, has := c.show(k, t)
		if list := sent[prefix+k.name]; has && len(list) > 0 {
			// A box that is off sends one value, a box that is on a second one.
			lines := k.how == "lines"
			if text := clean(list[len(list)-1], lines); text != clean(shown, lines) {
				t = c.set(k, t, text)
			}
		}
	}
	return t
}

// applySent applies the controls of the settings and of the open card.
func (e *editor) applySent(sent url.Values) {
	e.Undo = forms.Say("Change the settings")
	root := e.apply(e.root, formControls, "f-", sent)
	if e.path != nil {
		former := get(root, e.path...)
		card := e.applyCard(former, sent)
		root = e.rename(put(root, card, e.path...), nameOf(former), nameOf(card))
		if id := get(card, "id"); !isNone(id) {
			e.before = put(e.before, id, join(e.path, "id")...)
		}
		if !card.Equal(former) {
			e.Undo, e.at = forms.Say("Change “{0}”", e.label(card)), e.path
		}
	}
	e.change(root)
	e.wanted = &root
	if e.path != nil && sent.Has("q-section") {
		e.applySection(sent.Get("q-section"))
	}
	if e.at != nil || e.verb != "apply" {
		e.at = e.path
	}
}

// isButton reports whether the click names a choice or a rule.
func (e *editor) isButton(verb string, i int) bool { return e.verb == verb && e.arg == strconv.Itoa(i) }

// applyCard applies the controls of the open card, but its section.
func (e *editor) applyCard(former tree, sent url.Values) tree {
	kind := e.kindOf(former)
	card := e.apply(former, kind.controls, "q-", sent)
	if e.words(get(former, "label")) != "" && e.words(get(card, "label")) == "" {
		e.fault("q-label", sayNoLabel)
	}
	if sent.Has("q-show") {
		card = put(card, e.condition(get(card, "showIf"), sent), "showIf")
	}
	if kind.has("options") && sent.Has(ChoiceControl) {
		card = e.applyChoices(card, sent)
	}
	card = e.withID(card, clean(sent.Get("q-id"), false))
	if now := findKind(cmp.Or(sent.Get("q-kind"), kind.Name)); now != kind {
		card = e.applyKind(card, now)
	}
	return card
}

// applyKind makes another kind of question. Keys that it does not have go.
func (e *editor) applyKind(former tree, kind *Kind) tree {
	card, fields, all := without(former, "validate", "scale", "min", "max"), e.fill(kind.fields), e.kindOf(former).controls
	if e.kindOf(former).Name == "decision" {
		card = without(card, "by") // it came with the kind
	}
	e.plain = kind.Name == "choice"
	for _, k := range all {
		if !kind.has(k.path[0]) || k.how == "choices" && kind.Name == "yesno" {
			card = put(card, none, k.path[0])
		}
	}
	for i, key := range fields.Keys {
		if value := fields.Items[i]; !isNone(value) && (key != "options" || isNone(get(card, key))) {
			card = put(card, value, key)
		}
	}
	isText := kind.Name == "text" || kind.Name == "long"
	if !isText && !slices.Contains(values(card), get(card, "default").Text) {
		card = without(card, "default")
	}
	var lost []*message
	for _, k := range all {
		if !isNone(get(former, k.path...)) && isNone(get(card, k.path...)) {
			lost = append(lost, &message{Text: k.say})
		}
	}
	if options := get(card, "options"); kind.Name != "decision" {
		plain := each(options, func(option tree) tree { return short(without(option, "color")) })
		if card = put(card, plain, "options"); !options.Equal(plain) {
			lost = append(lost, forms.Say("Colours"))
		}
	}
	if len(lost) > 0 {
		e.also = append(e.also, forms.Say("No longer there: {0}.", lost))
	}
	return card
}

// applySection moves the open question into a section, or out of it.
func (e *editor) applySection(name string) {
	if name == keyOf(e.path[:len(e.path)-2]) {
		return
	}
	to := after(e.path[:2], 1)
	if into := pathOf(e.root, name); into != nil {
		to = join(into, fieldsKey, len(get(e.root, join(into, fieldsKey)...).Items))
		if len(e.path) == 2 && into[1].(int) > e.path[1].(int) {
			to[1] = into[1].(int) - 1
		}
	}
	e.moveTo(e.path, to)
	e.path = to
}
