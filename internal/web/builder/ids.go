package builder

import (
	"cmp"
	"fmt"
	"maps"
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

func cut(id string, size int) string {
	id = strings.Trim(id, "-")
	return strings.Trim(id[:min(len(id), size)], "-")
}

// unnamed matches the id of a question that was not closed yet.
var unnamed = regexp.MustCompile(`^question-\d+$`)

// taken are all ids that a new question must not have. "lang" in an address is the language.
func (e *editor) taken() map[string]bool {
	names := slices.AppendSeq(slices.Concat([]string{"id", "lang"}, e.Taken), maps.Keys(e.readOpened()))
	for _, card := range cards(e.root) {
		names = append(append(names, nameOf(card)), texts(get(card, "was"))...)
	}
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, ofSection)
	}
	return setOf(names)
}

func setOf(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

// free returns the first name that is not taken. The format counts.
func free(taken map[string]bool, name, format string) string {
	unique := name
	for n := 2; taken[unique]; n++ {
		unique = name + fmt.Sprintf(format, n)
	}
	return unique
}

// freeID returns an id, with a number if it is taken.
func freeID(id string, taken map[string]bool) string {
	if taken[id] {
		id = free(taken, cut(id, maxID-len("-999")), "-%d")
	}
	return id
}

// newID is the id of a question until it has a label, or the name of a section.
func (e *editor) newID(noun string) string {
	taken, n := e.taken(), 1
	for taken[fmt.Sprint(noun, n)] {
		n++
	}
	return fmt.Sprint(noun, n)
}

// withID gives a question another id. When a new one is closed, its label makes it. Answers that are stored under a
// former one stay its own.
func (e *editor) withID(card tree, id string) tree {
	former, byLabel := nameOf(card), slug(e.words(get(card, "label")))
	if closes := slices.Contains([]string{"done", "open", "add", "copy"}, e.verb); id == "" || id == former {
		if !closes || byLabel == "" || !unnamed.MatchString(former) || !isNone(e.onPage(card)) {
			return card
		}
		id = freeID(byLabel, e.taken())
	}
	was := slices.DeleteFunc(texts(get(card, "was")), func(name string) bool { return name == id })
	if _, found := e.readOpened()[former]; found {
		was = append([]string{former}, was...)
	}
	value := leaves(was)
	if len(was) == 1 {
		value = value.Items[0]
	}
	return put(put(card, "id", leaf(id)), "was", value)
}

// rename changes an id, and values of choices, where others name them.
func (e *editor) rename(root tree, former, id string) tree {
	if former == "" || id == former && len(e.renamed) == 0 {
		return root
	}
	return each(root, func(t tree) tree {
		if get(t, "submitterMail").Text == former {
			t = put(t, "submitterMail", leaf(id))
		}
		if get(t, "field").Text == former {
			t = put(exchange(t, e.renamed), "field", leaf(id))
		}
		return t
	})
}

// exchange exchanges texts.
func exchange(t tree, texts map[string]string) tree {
	return each(t, func(t tree) tree {
		t.Text = cmp.Or(texts[t.Text], t.Text)
		return t
	})
}

// newForm is the id in new.yaml.
const newForm = "new-form"

// NameForm gives a form its id at the first save: its title makes it. A form that has an id keeps it, unless it is
// taken.
func NameForm(text string, taken []string, c Context) (string, error) {
	root, err := parse(text)
	if former := get(root, "form").Text; err != nil || former != newForm && !slices.Contains(taken, former) {
		return text, err
	}
	id := freeID(cmp.Or(slug(c.words(get(root, "title"))), "form"), setOf(taken))
	text, _, err = markup.Edit(text, markup.Change{Do: markup.Set, Path: place{"form"}, Value: leaf(id)})
	return text, err
}
