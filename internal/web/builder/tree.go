package builder

import (
	"cmp"
	"fmt"
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

func isNone(t tree) bool { return t.Kind == markup.Leaf && t.Text == "" }

func leaf(text string) tree { return tree{Text: text} }

// listOf makes a list of items. If there are no items, it is none.
func listOf(items []tree) tree {
	if len(items) == 0 {
		return none
	}
	return tree{Kind: markup.List, Items: items}
}

// leaves returns texts. One alone needs no list.
func leaves(texts []string) tree {
	if len(texts) == 1 {
		return leaf(texts[0])
	}
	var items []tree
	for _, text := range texts {
		items = append(items, leaf(text))
	}
	return listOf(items)
}

// texts returns a text, or a list of texts.
func texts(t tree) (list []string) {
	if t.Text != "" {
		return []string{t.Text}
	}
	for _, item := range t.Items {
		list = append(list, item.Text)
	}
	return list
}

// get returns the value at a path, none if it is missing.
func get(t tree, path ...any) tree {
	value, _ := t.Get(path)
	return value
}

// put returns the tree with another value at a path. The value none removes a key.
func put(t, value tree, path ...any) tree {
	c := markup.Change{Path: path, Value: value}
	if len(path) == 1 && isNone(value) {
		c.Do = markup.Delete
	}
	t, _ = t.Apply(c)
	return t
}

func without(t tree, keys ...string) tree {
	for _, key := range keys {
		t = put(t, none, key)
	}
	return t
}

// each returns the tree with its values changed, the innermost first.
func each(t tree, change func(tree) tree) tree {
	t.Items = slices.Clone(t.Items)
	for i, item := range t.Items {
		t.Items[i] = each(item, change)
	}
	return change(t)
}

// exchange exchanges texts.
func exchange(t tree, texts map[string]string) tree {
	return each(t, func(t tree) tree {
		t.Text = cmp.Or(texts[t.Text], t.Text)
		return t
	})
}

// join returns a path with more steps.
func join(path place, steps ...any) place { return append(slices.Clip(path), steps...) }

// after returns the place after an item of a list, or another one that is by so many items away.
func after(path place, by int) place {
	end := len(path) - 1
	return join(path[:end], path[end].(int)+by)
}

// changes make one tree of another. They touch what differs.
func changes(path place, from, to tree) (list []markup.Change) {
	i, end, n := 0, len(to.Items), len(from.Items)
	switch {
	case from.Equal(to):
	case from.Kind != to.Kind || to.Kind == markup.Leaf:
		return []markup.Change{{Path: path, Value: to}}
	case to.Kind == markup.Mapping:
		for i, key := range to.Keys {
			list = append(list, changes(join(path, key), get(from, key), to.Items[i])...)
		}
		for _, key := range from.Keys {
			if !slices.Contains(to.Keys, key) {
				list = append(list, markup.Change{Do: markup.Delete, Path: join(path, key)})
			}
		}
	default:
		for i < min(end, n) && from.Items[i].Equal(to.Items[i]) {
			i++
		}
		for i < min(end, n) && from.Items[n-1].Equal(to.Items[end-1]) {
			end, n = end-1, n-1
		}
		for ; i < max(end, n); i++ {
			at := join(path, i)
			switch {
			case i >= end:
				list = append(list, markup.Change{Do: markup.Delete, Path: join(path, end)})
			case i >= n:
				list = append(list, markup.Change{Do: markup.Insert, Path: at, Value: to.Items[i]})
			default:
				list = append(list, changes(at, from.Items[i], to.Items[i])...)
			}
		}
	}
	return list
}

// language is the path to the words in the author's language, or else in the page's language.
func (c Context) language(t tree) place {
	if t.Kind != markup.Mapping || len(t.Keys) == 0 {
		return nil
	}
	return place{cmp.Or(forms.FindLanguage(t.Keys, c.Author), forms.FindLanguage(t.Keys, c.Lang), t.Keys[0])}
}

// words is a text in one language.
func (c Context) words(t tree) string { return strings.TrimSpace(get(t, c.language(t)...).Text) }

// say returns the tree with a text that has other words in the same language.
func (c Context) say(t tree, words string, path place) tree {
	return put(t, leaf(words), join(path, c.language(get(t, path...))...)...)
}

// clean removes what texts can't have. Word processors and spreadsheets write other spaces.
func clean(text string, lines bool) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' && lines:
		case unicode.IsSpace(r) && r != '\r':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

// keyOf is how actions name a card.
func keyOf(path place) (key string) {
	for i := 1; i < len(path); i += 2 {
		key += fmt.Sprint(".", path[i])
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
	if get(root, path...).Kind != markup.Mapping {
		return nil
	}
	return path
}
