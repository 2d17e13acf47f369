package builder

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

// tree is never changed in place: others share its parts.
type tree = markup.Tree

type (
	place   = markup.Path
	message = forms.Message
)

// none removes a key.
var none tree

func leaf(text string) tree { return tree{Text: text} }

// listOf makes a list of items. If there are no items, it is none.
func listOf(items []tree) tree {
	if len(items) == 0 {
		return none
	}
	return tree{Kind: markup.List, Items: items}
}

func leaves(texts []string) tree {
	var items []tree
	for _, text := range texts {
		items = append(items, leaf(text))
	}
	return listOf(items)
}

func isNone(t tree) bool { return t.Kind == markup.Leaf && t.Text == "" }

// get returns the value of a key, none if it is missing.
func get(t tree, key string) tree {
	value, _ := t.Get(place{key})
	return value
}

// put returns the mapping with another value of a key. The value none removes it.
func put(t tree, key string, value tree) tree {
	t.Keys, t.Items = slices.Clone(t.Keys), slices.Clone(t.Items)
	switch i := slices.Index(t.Keys, key); {
	case i < 0 && isNone(value):
		return t
	case i < 0:
		t.Keys, t.Items = append(t.Keys, key), append(t.Items, value)
	case isNone(value):
		t.Keys, t.Items = slices.Delete(t.Keys, i, i+1), slices.Delete(t.Items, i, i+1)
	default:
		t.Items[i] = value
	}
	t.Kind, t.Text = markup.Mapping, ""
	return t
}

// texts returns a text, or a list of texts.
func texts(t tree) (list []string) {
	if t.Kind == markup.Leaf && t.Text != "" {
		return []string{t.Text}
	}
	for _, item := range t.Items {
		list = append(list, item.Text)
	}
	return list
}

// each returns the tree with its values changed, the innermost first.
func each(t tree, change func(tree) tree) tree {
	t.Items = slices.Clone(t.Items)
	for i, item := range t.Items {
		t.Items[i] = each(item, change)
	}
	return change(t)
}

// splice replaces n cards at a path by others.
func splice(t tree, path place, n int, cards ...tree) tree {
	list, i := get(t, fieldsKey), last(path[:2])
	if len(path) > 2 {
		n, cards = 1, []tree{splice(list.Items[i], path[2:], n, cards...)}
	}
	list.Kind, list.Items = markup.List, slices.Replace(slices.Clone(list.Items), i, i+n, cards...)
	return put(t, fieldsKey, list)
}

// last returns the index that a path ends with.
func last(path place) int {
	i, _ := path[len(path)-1].(int)
	return i
}

// after returns the place after an item of a list, or another one that is by so many items away.
func after(path place, by int) place {
	return append(slices.Clone(path[:len(path)-1]), last(path)+by)
}

// changes make one tree of another. They touch what differs.
func changes(path place, from, to tree) (list []markup.Change) {
	if reflect.DeepEqual(from, to) {
		return nil
	}
	if from.Kind != to.Kind || to.Kind == markup.Leaf {
		return []markup.Change{{Do: markup.Set, Path: path, Value: to}}
	}
	step := func(step any) place { return append(slices.Clone(path), step) }
	if to.Kind == markup.Mapping {
		for i, key := range to.Keys {
			list = append(list, changes(step(key), get(from, key), to.Items[i])...)
		}
		for _, key := range from.Keys {
			if !slices.Contains(to.Keys, key) {
				list = append(list, markup.Change{Do: markup.Delete, Path: step(key)})
			}
		}
		return list
	}
	old := slices.Clone(from.Items)
	for len(old) > len(to.Items) {
		i := 0
		for i < len(to.Items) && reflect.DeepEqual(old[i], to.Items[i]) {
			i++
		}
		old = slices.Delete(old, i, i+1)
		list = append(list, markup.Change{Do: markup.Delete, Path: step(i)})
	}
	for i, item := range to.Items {
		if i < len(old) {
			list = append(list, changes(step(i), old[i], item)...)
		} else {
			list = append(list, markup.Change{Do: markup.Insert, Path: step(i), Value: item})
		}
	}
	return list
}

// words is a text in the page's language.
func (c Context) words(t tree) string {
	if t.Kind == markup.Mapping && len(t.Keys) > 0 {
		t = t.Items[c.language(t)]
	}
	return strings.TrimSpace(t.Text)
}

// language is the index of the page's language in a text by languages.
func (c Context) language(t tree) int {
	return max(0, slices.Index(t.Keys, forms.FindLanguage(t.Keys, c.Lang)))
}

// say is a text with other words in the page's language.
func (c Context) say(t tree, words string) tree {
	if t.Kind != markup.Mapping || len(t.Keys) == 0 {
		return leaf(words)
	}
	t.Items = slices.Clone(t.Items)
	t.Items[c.language(t)] = leaf(words)
	return t
}

// clean removes what texts can't have. Word processors and spreadsheets write other spaces.
func clean(text string, lines bool) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' && lines:
			return r
		case unicode.IsSpace(r) && r != '\r':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

const fieldsKey = "fields"

// keyOf is how actions name a card.
func keyOf(path place) (key string) {
	for _, step := range path {
		if index, ok := step.(int); ok {
			key += "." + strconv.Itoa(index)
		}
	}
	return strings.TrimPrefix(key, ".")
}

// pathOf is where a card is, nil if there is none.
func pathOf(root tree, key string) (path place) {
	for part := range strings.SplitSeq(key, ".") {
		index, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		path = append(path, fieldsKey, index)
	}
	if card, _ := root.Get(path); card.Kind != markup.Mapping {
		return nil
	}
	return path
}
