package builder

import (
	_ "embed" // the kinds
	"slices"
	"strconv"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

//go:embed kinds.yaml
var kindsText string

var kindsTree, _ = markup.ReadTree(kindsText) // a text of ours

// Kinds are all kinds of questions. Where several look the same in a text, the first one stands for them.
var Kinds = []*Kind{
	kind("text", forms.Say("Short text")),
	kind("long", forms.Say("Long text")),
	kind("number", forms.Say("Number")),
	kind("date", forms.Say("Date")),
	kind("email", forms.Say("E-mail address")),
	kind("choice", forms.Say("One choice")),
	kind("list", forms.Say("List")),
	kind("several", forms.Say("Several choices")),
	kind("yesno", forms.Say("Yes or no")),
	kind("scale", forms.Say("Scale")),
	kind("file", forms.Say("File")),
	kind("decision", forms.Say("Decision")),
	kind(sectionKey, forms.Say("Section")),
}

func kind(name string, say *message) *Kind {
	k := &Kind{Name: name, Say: say, fields: get(kindsTree, name, fieldsKey)}
	for _, item := range get(kindsTree, name, "controls").Items {
		parts := append(texts(item), "", "")
		c := control{parts[0], place{parts[1]}, parts[2], parts[3]}
		if index, err := strconv.Atoi(parts[4]); err == nil {
			c.path = append(c.path, index)
		}
		k.controls = append(k.controls, c)
	}
	return k
}

var formControls = kind("form", nil).controls

// pageWords stand in new questions, in the page's language.
var pageWords = map[string]*message{
	"$specify": forms.Say("Please specify"),
	"$yes":     forms.Say("Yes"), "$no": forms.Say("No"),
	"$open":    forms.Say("decision|Open"),
	"$granted": forms.Say("decision|Granted"), "$refused": forms.Say("decision|Refused"),
}

// fill writes the page's words into a new question.
func (c Context) fill(t tree) tree {
	return each(t, func(t tree) tree {
		if word := pageWords[t.Text]; word != nil {
			return leaf(c.Words(word))
		}
		return t
	})
}

func findKind(name string) *Kind {
	i := slices.IndexFunc(Kinds, func(k *Kind) bool { return k.Name == name })
	return Kinds[max(0, i)]
}

// kindOf returns the kind of a question or section: a short text if it is unknown.
func (c Context) kindOf(card tree) *Kind {
	var labels []string
	for _, choice := range c.choices(card) {
		labels = append(labels, choice.Label)
	}
	isYesNo := slices.ContainsFunc(c.YesNo, func(words []string) bool { return slices.Equal(words, labels) })
	i := slices.IndexFunc(Kinds, func(k *Kind) bool {
		return looksOf(k.fields) == looksOf(card) && (k.Name != "choice" || !isYesNo)
	})
	return Kinds[max(0, i)]
}

// looksOf tells kinds apart in a text.
func looksOf(card tree) string {
	if isSection(card) {
		return sectionKey
	}
	looks := get(card, "type").Text
	if validate := get(card, "validate").Text; validate == "numeric" || validate == "email" {
		looks += validate
	}
	if len(get(card, "scale").Items) > 0 {
		looks += "scale"
	}
	return looks
}

func (k *Kind) has(key any) bool {
	return slices.ContainsFunc(k.controls, func(c control) bool { return c.path[0] == key })
}

var (
	sayLong    = forms.Say("Shorten this text.")
	sayBound   = forms.Say("Write a number such as 12, or a day such as 2026-01-31. The least is below the greatest.")
	sayMoment  = forms.Say("Write a day and, if you like, a time. The form opens before it closes.")
	sayNoLabel = forms.Say("Write the question.")
)

// faults say what a control takes, by the key in the text.
var faults = map[string]*message{
	"title": sayLong, "label": sayLong, "help": sayLong, "intro": sayLong, "thanks": sayLong,
	"id":      forms.Say("Choose another name: this one is taken, or is not allowed."),
	"options": forms.Say("Each choice needs a text of its own. Questions of a table have the same choices."),
	"scale":   forms.Say("A scale has at most 11 choices, and is in no table."),
	"min":     sayBound, "max": sayBound,
	"maxLength": forms.Say("Write a whole number, from 1 to 1000000."),
	"limit":     forms.Say("Write a whole number, from 1 to 10000."),
	"default":   forms.Say("The default must be an answer that the question takes. Change the default first."),
	"accept":    forms.Say("Write endings such as .pdf, or types such as image/*, with commas between them."),
	"maxSize":   forms.Say("Write a whole number with its unit, as in 5 MB."),
	"opens":     sayMoment, "closes": sayMoment,
	"notify":        forms.Say("Write an e-mail address, or several with commas between them."),
	"showIf":        forms.Say("Complete the condition."),
	"lockIf":        forms.Say("Its answer locks submissions. Change that in the text first."),
	"submitterMail": forms.Say("Mails about submissions go to this address. Change that in the text first."),
}
