package builder

import (
	"errors"
	"reflect"
	"slices"

	"github.com/formulary/formulary/internal/forms"
)

// Changes describes in words how one text became another.
func Changes(before, after string, c Context) ([]*message, error) {
	old, err := parse(before)
	now, errNow := parse(after)
	if err = errors.Join(err, errNow); err != nil {
		return nil, err
	}
	return c.compare(old, now), nil
}

// compare describes how one form became another.
func (c Context) compare(before, after tree) (say sayings) {
	former := map[string]tree{}
	for _, card := range cards(before) {
		former[nameAmongAll(card)] = card
	}
	var order, newOrder, added, removed []string
	var changed sayings
	for _, card := range cards(after) {
		name := nameAmongAll(card)
		for _, was := range texts(get(card, "was")) {
			if isNone(former[name]) {
				name = was
			}
		}
		if old, found := former[name]; found {
			newOrder = append(newOrder, name)
			c.compareCards(old, card, &changed)
		} else {
			added = append(added, c.label(card))
		}
	}
	for _, card := range cards(before) {
		if name := nameAmongAll(card); slices.Contains(newOrder, name) {
			order = append(order, name)
		} else {
			removed = append(removed, c.label(card))
		}
	}
	say.add(added != nil, forms.Say("Added: {0}.", added))
	say.add(removed != nil, forms.Say("Deleted: {0}.", removed))
	say = append(say, changed...)
	say.add(!slices.Equal(order, newOrder), forms.Say("The order of the questions is another one."))
	title, intro := c.words(get(after, "title")), get(after, "intro")
	newTitle := title != c.words(get(before, "title"))
	say.add(newTitle && title != "", forms.Say("The title is “{0}” now.", title))
	say.add(newTitle && title == "", forms.Say("The title was removed."))
	noIntro := isNone(intro) && !isNone(get(before, "intro"))
	say.add(noIntro, forms.Say("The introduction was removed."))
	say.add(!noIntro && differ(get(before, "intro"), intro), forms.Say("The introduction has changed."))
	say.add(differ(before, after, "title", "intro", fieldsKey), forms.Say("The settings have changed."))
	return say
}

// nameAmongAll is the name of a card. A section may have the name of a question.
func nameAmongAll(card tree) string {
	if isSection(card) {
		return " " + nameOf(card)
	}
	return nameOf(card)
}

type sayings []*message

func (s *sayings) add(isSo bool, say *message) {
	if isSo {
		*s = append(*s, say)
	}
}

// differ reports whether two mappings differ in other keys.
func differ(a, b tree, keys ...string) bool {
	return !reflect.DeepEqual(without(a, keys...), without(b, keys...))
}

func without(t tree, keys ...string) tree {
	for _, key := range keys {
		t = put(t, key, none)
	}
	return t
}

// compareCards describes how a question or a section has changed.
func (c Context) compareCards(old, card tree, say *sayings) {
	former, label, kind, n := c.label(old), c.label(card), c.kindOf(card), len(*say)
	was, is, lost := isOn(get(old, "required")), isOn(get(card, "required")), c.newChoices(card, old)
	say.add(former != label, forms.Say("“{0}” is “{1}” now.", former, label))
	if kind != c.kindOf(old) {
		say.add(true, forms.Say("The kind of “{0}” is “{1}” now.", label, kind.Say))
	} else if list := c.newChoices(old, card); list != nil {
		say.add(true, forms.Say("New choices of “{0}”: {1}.", label, list))
	}
	say.add(lost != nil && kind.has("options"), forms.Say("“{0}” no longer has the choices: {1}.", label, lost))
	for _, option := range get(card, "options").Items {
		text := c.optionLabel(option)
		read := c.optionLabel(optionOf(get(old, "options").Items, option))
		say.add(read != "" && read != text, forms.Say("“{0}” reads “{1}” now.", read, text))
	}
	say.add(is && !was, forms.Say("“{0}” is required now.", label))
	say.add(was && !is, forms.Say("“{0}” is optional now.", label))
	if !reflect.DeepEqual(get(old, "showIf"), get(card, "showIf")) {
		say.add(true, forms.Say("“{0}” has another condition.", label))
	}
	say.add(len(*say) == n && differ(old, card, "was", fieldsKey), forms.Say("“{0}” has changed.", label))
}

// optionOf returns the option that is the same as another one, maybe by a former value; none if there is none.
func optionOf(list []tree, other tree) tree {
	replaces := func(a, b tree) bool { return slices.Contains(texts(get(a, "was")), valueOf(b)) }
	for _, option := range list {
		if valueOf(option) == valueOf(other) || replaces(option, other) || replaces(other, option) {
			return option
		}
	}
	return none
}

// newChoices returns the choices that the old question did not have.
func (c Context) newChoices(old, card tree) (list []string) {
	for _, option := range get(card, "options").Items {
		if isNone(optionOf(get(old, "options").Items, option)) {
			list = append(list, c.optionLabel(option))
		}
	}
	return list
}
