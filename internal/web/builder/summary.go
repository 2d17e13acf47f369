package builder

import (
	"errors"
	"slices"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// Changes describes in words how one text became another.
func Changes(before, after string, c Context) ([]*message, error) {
	old, err := parse(before)
	now, errNow := parse(after)
	if err = errors.Join(err, errNow); err != nil {
		return nil, err
	}
	return c.compare(old.Tree, now.Tree), nil
}

// saying is a sentence that may hold.
type saying struct {
	holds bool
	say   *message
}

func say(all []saying) (list []*message) {
	for _, s := range all {
		if s.holds {
			list = append(list, s.say)
		}
	}
	return list
}

// compare describes how one form became another.
func (c Context) compare(before, after tree) []*message {
	var order, newOrder, added, removed []string
	var changed []*message
	former := byName(before)
	for _, card := range cards(after) {
		if old := former.former(card); isNone(old) {
			added = append(added, c.label(card))
		} else {
			newOrder = append(newOrder, nameOf(old))
			changed = append(changed, c.compareCards(old, card)...)
		}
	}
	for _, card := range cards(before) {
		if name := nameOf(card); slices.Contains(newOrder, name) {
			order = append(order, name)
		} else {
			removed = append(removed, c.label(card))
		}
	}
	title, intro, oldIntro := c.words(get(after, "title")), get(after, "intro"), get(before, "intro")
	settings, known := c.changedSettings(before, after)
	newTitle := title != c.words(get(before, "title"))
	return slices.Concat(
		say([]saying{
			{added != nil, forms.Say("Added: {0}.", added)}, {removed != nil, forms.Say("Deleted: {0}.", removed)},
		}),
		changed,
		say([]saying{
			{!slices.Equal(order, newOrder), forms.Say("The order of the questions is another one.")},
			{newTitle && title != "", forms.Say("The title is “{0}” now.", title)},
			{newTitle && title == "", forms.Say("The title was removed.")},
			{isNone(intro) && !isNone(oldIntro), forms.Say("The introduction was removed.")},
			{!isNone(intro) && !intro.Equal(oldIntro), forms.Say("The introduction has changed.")},
			{settings != nil, forms.Say("Changed settings: {0}.", settings)},
			{differ(before, after, known...), forms.Say("The settings have changed.")},
		}),
	)
}

// changedSettings names the settings that are another, and returns the keys of the form that it looks at.
func (c Context) changedSettings(before, after tree) (names []*message, known []string) {
	known = []string{"title", "intro", fieldsKey}
	for _, k := range formControls {
		if key := k.path[0].(string); !slices.Contains(known, key) {
			known = append(known, key)
			value, name := get(after, key), &message{Text: k.say}
			if get(before, key).Equal(value) {
				continue
			}
			if day, clock := c.moment(value); k.how == "day" && day != "" {
				name = forms.Say("{0}: {1}", name, c.when(day, clock))
			}
			names = append(names, name)
		}
	}
	return names, known
}

// when is a day, or a day and a time, as people read it.
func (c Context) when(day, clock string) any {
	at, err := time.ParseInLocation("2006-01-02 15:04", day+" "+clock, c.zone())
	if err != nil {
		return day
	}
	return at
}

// differ reports whether two mappings differ in other keys.
func differ(a, b tree, keys ...string) bool { return !without(a, keys...).Equal(without(b, keys...)) }

// compareCards describes how a question or a section has changed.
func (c Context) compareCards(old, card tree) (list []*message) {
	if old.Equal(card) {
		return nil
	}
	former, label, formerKind, kind := c.label(old), c.label(card), c.kindOf(old), c.kindOf(card)
	was, is := isOn(get(old, "required")), isOn(get(card, "required"))
	added, reads := c.newChoices(old, card)
	lost, _ := c.newChoices(card, old)
	rule, oldRule := get(card, "showIf"), get(old, "showIf")
	list = append(say([]saying{
		{former != label && c.text(old) != "", forms.Say("“{0}” is “{1}” now.", former, label)},
		{kind != formerKind, forms.Say("The kind of “{0}” is “{1}” now.", label, kind.Say)},
		{kind == formerKind && added != nil, forms.Say("New choices of “{0}”: {1}.", label, added)},
		{kind.has("options") && lost != nil, forms.Say("“{0}” no longer has the choices: {1}.", label, lost)},
		{is && !was, forms.Say("“{0}” is required now.", label)},
		{was && !is, forms.Say("“{0}” is optional now.", label)},
		{isNone(rule) && !isNone(oldRule), forms.Say("“{0}” has no condition any more.", label)},
		{!isNone(rule) && isNone(oldRule), forms.Say("“{0}” has a condition now.", label)},
		{!isNone(rule) && !isNone(oldRule) && !rule.Equal(oldRule), forms.Say("“{0}” has another condition.", label)},
	}), reads...)
	if len(list) == 0 && differ(old, card, "was", fieldsKey) {
		list = append(list, forms.Say("“{0}” has changed.", label))
	}
	return list
}

// newChoices returns the choices that the old question did not have, and says which ones read otherwise.
func (c Context) newChoices(old, card tree) (added []string, reads []*message) {
	for _, option := range get(card, "options").Items {
		label := c.optionLabel(option)
		i := slices.IndexFunc(get(old, "options").Items, func(former tree) bool {
			return slices.Contains(allValues(option), valueOf(former)) || slices.Contains(allValues(former), valueOf(option))
		})
		if i < 0 {
			added = append(added, label)
		} else if read := c.optionLabel(get(old, "options", i)); read != label {
			reads = append(reads, forms.Say("“{0}” reads “{1}” now.", read, label))
		}
	}
	return added, reads
}

// allValues returns the value of an option, and its former ones.
func allValues(option tree) []string { return append(texts(get(option, "was")), valueOf(option)) }
