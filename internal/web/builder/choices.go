package builder

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

func valueOf(option tree) string { return cmp.Or(get(option, "value").Text, option.Text) }

// optionLabel returns what people read.
func (c Context) optionLabel(option tree) string {
	return cmp.Or(c.words(get(option, "label")), valueOf(option))
}

// choices are the options of a question.
func (c Context) choices(card tree) (list []Choice) {
	for _, option := range get(card, "options").Items {
		list = append(list, Choice{Value: valueOf(option), Label: c.optionLabel(option)})
	}
	return list
}

// values returns the values of a question's choices.
func values(card tree) (list []string) {
	for _, option := range get(card, "options").Items {
		list = append(list, valueOf(option))
	}
	return list
}

// short makes a text of an option that has only a value.
func short(option tree) tree {
	if slices.Equal(option.Keys, []string{"value"}) {
		return option.Items[0]
	}
	return option
}

// cleanChoice is a text of a choice: a separator is a comma.
func cleanChoice(text string) string {
	return strings.ReplaceAll(clean(text, false), forms.Separator, ",")
}

// applyChoices applies the texts of the choices. The value of a choice that is on the page stays, as in answers.
// It takes the first column of pasted lines, without blank ones and doubles.
func (e *editor) applyChoices(card tree, sent url.Values) tree {
	labels := sent[ChoiceControl]
	if e.verb == "other" {
		labels = append(labels, e.Words(forms.Say("choice|Other")))
	}
	typed, left, double := len(labels), 0, ""
	if lines := strings.TrimSpace(sent.Get(SeveralControl)); e.verb == "several" || lines != "" {
		labels = append(labels, strings.Split(lines, "\n")...)
	}
	shown := append(slices.Clone(sent[ValueControl]), make([]string, len(labels))...)
	former, read := values(card), map[string]bool{}
	taken := setOf(former)
	var options []tree
	for i, label := range labels {
		if len(options) > markup.MaxOptions {
			break
		}
		if i >= typed {
			label, _, _ = strings.Cut(label, "\t")
		}
		label = cleanChoice(label)
		value, option := shown[i], get(card, "options", slices.Index(former, shown[i]))
		switch {
		case i >= typed && (label == "" || read[label]):
			left++
			continue
		case label == "" || e.isButton("unchoice", i):
			continue
		case read[label]:
			double = label
		case e.optionLabel(option) != label:
			if !slices.Contains(values(e.readOpened().former(card)), value) {
				value = free(taken, label, " ", 2)
			}
			taken[value], e.renamed[shown[i]] = true, value
			option = e.option(option, value, label)
		}
		read[label], options = true, append(options, option)
	}
	if e.verb == "several" {
		e.Notice = forms.SayN("Added {0} choice.", "Added {0} choices.", len(labels)-typed-left)
	}
	if left > 0 {
		e.also = append(e.also,
			forms.SayN("Left out {0} line, blank or double.", "Left out {0} lines, blank or double.", left))
	}
	if len(options) > markup.MaxOptions {
		e.fault(ChoiceControl, forms.Say("A question has at most {0} choices.", markup.MaxOptions))
	} else if double != "" {
		e.fault(ChoiceControl, forms.Say("Two choices are “{0}”. Change one of them.", double))
	}
	delete(e.renamed, "") // of new ones
	return put(put(card, exchange(get(card, "default"), e.renamed), "default"), listOf(options), "options")
}

// option returns an option with another value and another text.
func (c Context) option(option tree, value, label string) tree {
	option.Text = ""
	option = c.say(put(option, leaf(value), "value"), label, place{"label"})
	if label == value && get(option, "label").Kind == markup.Leaf {
		option = short(put(option, none, "label"))
	}
	return option
}
