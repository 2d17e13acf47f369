package builder

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

// valueOf returns the value of an option.
func valueOf(option tree) string {
	if option.Kind == markup.Mapping {
		option = get(option, "value")
	}
	return option.Text
}

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

// short makes a text of an option that has only a value.
func short(option tree) tree {
	if slices.Equal(option.Keys, []string{"value"}) {
		return option.Items[0]
	}
	return option
}

// values returns the values of a question's choices.
func values(card tree) (list []string) {
	for _, option := range get(card, "options").Items {
		list = append(list, valueOf(option))
	}
	return list
}

// cleanChoice is a text of a choice: a separator is a comma.
func cleanChoice(text string) string {
	return strings.ReplaceAll(clean(text, false), forms.Separator, ",")
}

// several returns the choices of lines. It takes the first column of a spreadsheet.
func (e *editor) several(lines string, choices []string) (list []string) {
	seen, left := map[string]bool{"": true}, 0
	for _, choice := range choices {
		seen[cleanChoice(choice)] = true
	}
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		column, _, _ := strings.Cut(line, "\t")
		text := cleanChoice(column)
		if seen[text] {
			left++
			continue
		}
		seen[text], list = true, append(list, text)
	}
	if e.verb == "several" {
		e.Notice = forms.SayN("Added {0} choice.", "Added {0} choices.", len(list))
	}
	if left > 0 {
		e.also = append(e.also,
			forms.SayN("Left out {0} line, blank or double.", "Left out {0} lines, blank or double.", left))
	}
	return list
}

// applyChoices applies the texts of the choices. The value of a choice that is on the page stays, as in answers.
func (e *editor) applyChoices(card tree, sent url.Values) tree {
	labels, shown := sent[ChoiceControl], sent[ValueControl]
	if lines := sent.Get(SeveralControl); e.verb == "several" || strings.TrimSpace(lines) != "" {
		labels = append(labels, e.several(lines, labels)...)
	}
	if e.verb == "other" {
		labels = append(labels, e.Words(forms.Say("choice|Other")))
	}
	if len(labels) > markup.MaxOptions+1 {
		e.fault(ChoiceControl, forms.Say("A question has at most {0} choices.", markup.MaxOptions))
		return card
	}
	former, taken, read := map[string]tree{}, setOf(values(card)), map[string]bool{}
	for _, option := range get(card, "options").Items {
		former[valueOf(option)] = option
	}
	shown = append(slices.Clone(shown), make([]string, len(labels))...)
	var options []tree
	for i, label := range labels {
		if label = cleanChoice(label); label == "" || e.isButton("unchoice", i) {
			continue
		}
		if read[label] {
			e.fault(ChoiceControl, forms.Say("Two choices are “{0}”. Change one of them.", label))
		}
		option, exists := former[shown[i]]
		if !exists || e.optionLabel(option) != label {
			value := shown[i]
			if !exists || !slices.Contains(values(e.onPage(card)), value) {
				value = free(taken, label, " %d")
			}
			taken[value], e.renamed[shown[i]] = true, value
			option = e.option(option, value, label)
		}
		read[label], options = true, append(options, option)
	}
	delete(e.renamed, "") // of new ones
	card = put(card, "default", exchange(get(card, "default"), e.renamed))
	return put(card, "options", listOf(options))
}

// option returns an option with another value and another text.
func (c Context) option(option tree, value, label string) tree {
	if option.Kind != markup.Mapping {
		option = none
	}
	option = put(option, "value", leaf(value))
	if text := c.say(get(option, "label"), label); text.Kind == markup.Mapping || label != value {
		return put(option, "label", text)
	}
	return short(put(option, "label", none))
}
