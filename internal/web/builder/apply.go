package builder

import (
	"cmp"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

// control is a control of a key of a card or of the form: see kinds.yaml.
type control struct{ name, key, how, say string }

// parts are the places of values that are parts of one.
var parts = map[string]int{"time": 1, "last": 1}

// show returns what the control has for a card or the form. A bound that is another answer has no control.
func (c Context) show(k control, t tree) (value string, shown bool) {
	v, part := get(t, k.key), parts[k.how]
	switch k.how {
	case "line", "lines":
		return c.words(v), true
	case "box":
		if isOn(v) {
			value = "true"
		}
		return value, true
	case "commas":
		return strings.Join(texts(v), ", "), true
	case "day", "time":
		return c.moment(v.Text)[part], true
	case "first", "last":
		if shown = len(v.Items) > part; shown {
			value = c.words(v.Items[part])
		}
		return value, shown
	}
	return v.Text, k.how == "plain" && v.Kind == markup.Leaf && !strings.Contains(v.Text, "\n")
}

func isOn(t tree) bool { return t.Text != "" && t.Text != "false" }

// moment returns a day and a time in the server's zone.
func (c Context) moment(text string) (parts [2]string) {
	text = strings.Replace(text, "T", " ", 1)
	if at, err := time.Parse("2006-01-02 15:04:05Z07:00", text); err == nil && c.Options != nil {
		text = at.In(cmp.Or(c.Options.Zone, time.UTC)).Format("2006-01-02 15:04")
	}
	parts[0], parts[1], _ = strings.Cut(text, " ")
	return parts
}

// set returns the card or the form with the text of a control.
func (c Context) set(k control, t tree, text string) tree {
	former, value, part := get(t, k.key), leaf(text), parts[k.how]
	switch k.how {
	case "line", "lines":
		if value = c.say(former, text); k.name == "title" && c.Opened == "" {
			value = leaf(text) // the one title of a new form
		}
	case "box":
		if k.key == "by" && text != "" {
			value = leaf("editors")
		}
	case "commas":
		value = leaves(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",; ", r) }))
	case "day", "time":
		both := c.moment(former.Text)
		both[part] = text
		value = leaf(strings.TrimRight(both[0]+" "+both[1], " "))
	case "first", "last":
		value = listOf(slices.Clone(former.Items))
		value.Items[part] = c.say(former.Items[part], text)
	}
	return put(t, k.key, value)
}

// apply applies controls of a card or of the form. A control that nobody changed leaves the text as it is.
func (c Context) apply(t tree, controls []control, prefix string, sent url.Values) tree {
	for _, k := range controls {
		shown, has := c.show(k, t)
		list := sent[prefix+k.name]
		if !has || len(list) == 0 {
			continue
		}
		// A box that is off sends one value, a box that is on a second one.
		if text := clean(list[len(list)-1], k.how == "lines"); text != clean(shown, k.how == "lines") {
			t = c.set(k, t, text)
		}
	}
	return t
}

// applySent applies the controls of the settings and of the open card.
func (e *editor) applySent(sent url.Values) {
	e.Undo = forms.Say("Change the settings")
	root := e.apply(e.root, formControls, "f-", sent)
	if former, _ := root.Get(e.path); e.path != nil {
		card := e.applyCard(former, sent)
		root = e.rename(splice(root, e.path, 1, card), nameOf(former), nameOf(card))
		if !reflect.DeepEqual(card, former) {
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
	kind, now := e.kindOf(former), findKind(sent.Get("q-kind"))
	card := e.apply(former, kind.controls, "q-", sent)
	if e.words(get(former, "label")) != "" && e.words(get(card, "label")) == "" {
		e.fault("q-label", sayNoLabel)
	}
	if sent.Has("q-show") {
		card = put(card, "showIf", e.condition(get(card, "showIf"), sent))
	}
	if isSection(card) {
		return card
	}
	if kind.has("options") && sent.Has(ChoiceControl) {
		card = e.applyChoices(card, sent)
	}
	card = e.withID(card, clean(sent.Get("q-id"), false))
	if sent.Has("q-kind") && now != kind && now.Name != sectionKey {
		card = e.applyKind(card, now)
	}
	return card
}

// applyKind makes another kind of question. Keys that it does not have go.
func (e *editor) applyKind(former tree, kind *Kind) tree {
	card, fields := without(former, "validate", "scale", "min", "max"), e.fill(kind.fields)
	e.plain = kind.Name == "choice"
	for _, k := range e.kindOf(former).controls {
		if !kind.has(k.key) || k.key == "options" && kind.Name == "yesno" {
			card = put(card, k.key, none)
		}
	}
	for i, key := range fields.Keys {
		if value := fields.Items[i]; !isNone(value) && (key != "options" || isNone(get(card, key))) {
			card = put(card, key, value)
		}
	}
	isText := kind.Name == "text" || kind.Name == "long"
	if value := get(card, "default"); !isText && !slices.Contains(values(card), value.Text) {
		card = put(card, "default", none)
	}
	var lost []*message
	for _, k := range e.kindOf(former).controls {
		if !isNone(get(former, k.key)) && isNone(get(card, k.key)) {
			lost = append(lost, &message{Text: k.say})
		}
	}
	if kind.Name != "decision" {
		options := get(card, "options")
		plain := each(options, func(option tree) tree { return short(put(option, "color", none)) })
		if card = put(card, "options", plain); !reflect.DeepEqual(options, plain) {
			lost = append(lost, forms.Say("Colours"))
		}
	}
	if len(lost) > 0 {
		e.also = append(e.also, forms.Say("No longer there: {0}.", lost))
	}
	return card
}

func isMulti(card tree) bool { return get(card, "type").Text == "checkbox" }

// applySection moves the open question into a section, or out of it.
func (e *editor) applySection(name string) {
	card, _ := e.root.Get(e.path)
	to, into := after(e.path[:2], 1), pathOf(e.root, name)
	section, _ := e.root.Get(into)
	if isSection(card) || name == keyOf(e.path[:len(e.path)-2]) || into != nil && !isSection(section) {
		return
	}
	if into != nil {
		if len(e.path) == 2 && last(into) > last(e.path) {
			into = after(into, -1)
		}
		to = slices.Concat(into, place{fieldsKey, len(get(section, fieldsKey).Items)})
	}
	e.moveTo(e.path, to)
	e.path, e.at, e.Undo = to, to, forms.Say("Move “{0}”", e.label(card))
}
