package builder

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/formulary/formulary/internal/markup"
)

const maxID = 40

// Latin letters that are no letter with a mark.
var otherLatin = strings.NewReplacer(
	"ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "ı", "i")

var (
	marks     = regexp.MustCompile(`\p{Mn}+`)
	otherSign = regexp.MustCompile(`[^a-z0-9]+`)
)

// slug makes an id of a label. It is "" if nothing is left.
func slug(label string) string {
	latin := marks.ReplaceAllString(norm.NFKD.String(otherLatin.Replace(strings.ToLower(label))), "")
	return cut(otherSign.ReplaceAllString(latin, "-"), maxID)
}

func cut(id string, size int) string { return strings.Trim(id[:min(len(id), size)], "-") }

// unnamed matches the id of a question that was not closed yet.
var unnamed = regexp.MustCompile(`^question-\d+$`)

// taken are all ids that a new question must not have. "lang" in an address is the language.
func (e *editor) taken() map[string]bool {
	taken := setOf(append([]string{"id", "lang"}, e.Taken...))
	for _, all := range []named{e.cards, e.readOpened()} {
		for name, card := range all {
			for _, name := range append(texts(get(card.tree, "was")), strings.TrimPrefix(name, ofSection)) {
				taken[name] = true
			}
		}
	}
	return taken
}

func setOf(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

// free returns the name, or the first one with a number that is not taken.
func free(taken map[string]bool, name, between string, n int) string {
	unique := name
	for ; taken[unique]; n++ {
		unique = fmt.Sprint(name, between, n)
	}
	return unique
}

// freeID returns an id, with a number if it is taken.
func freeID(id string, taken map[string]bool) string {
	if taken[id] {
		id = cut(id, maxID-len("-999"))
	}
	return free(taken, id, "-", 2)
}

// withID gives a question another id. When a new one is closed, its label makes it. Answers that are stored under a
// former one stay its own.
func (e *editor) withID(card tree, id string) tree {
	former := nameOf(card)
	if id == "" || id == former {
		id = slug(e.words(get(card, "label")))
		closes := slices.Contains([]string{"done", "open", "add", "copy"}, e.verb)
		if !closes || id == "" || !unnamed.MatchString(former) || !isNone(e.readOpened().former(card)) {
			return card
		}
		id = freeID(id, e.taken())
	}
	was := slices.DeleteFunc(texts(get(card, "was")), func(name string) bool { return name == id })
	if !isNone(e.readOpened()[former].tree) {
		was = append([]string{former}, was...)
	}
	return put(put(card, leaf(id), "id"), leaves(was), "was")
}

// rename changes an id, and values of choices, where others name them.
func (e *editor) rename(root tree, former, id string) tree {
	if former == "" || id == former && len(e.renamed) == 0 {
		return root
	}
	return each(root, func(t tree) tree {
		if get(t, "submitterMail").Text == former {
			t = put(t, leaf(id), "submitterMail")
		}
		if get(t, "field").Text == former {
			t = put(exchange(t, e.renamed), leaf(id), "field")
		}
		return t
	})
}

// newForm is the id in new.yaml.
const newForm = "new-form"

// NameForm gives a form its id at the first save: its title makes it. A form that has an id keeps it, unless it is
// taken.
func NameForm(text string, taken []string, c Context) (string, error) {
	document, err := parse(text)
	if former := get(document.Tree, "form").Text; err != nil || former != newForm && !slices.Contains(taken, former) {
		return text, err
	}
	id := freeID(cmp.Or(slug(c.words(get(document.Tree, "title"))), "form"), setOf(taken))
	text, _, err = markup.Edit(text, markup.Change{Path: place{"form"}, Value: leaf(id)})
	return text, err
}
