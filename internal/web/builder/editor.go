package builder

import (
	"cmp"
	"errors"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

// editor changes a form. Its changes wait for commit.
type editor struct {
	Context
	Result
	verb, arg string          // of the action
	root      tree            // the form with all changes
	queue     []markup.Change // of Text
	path      place           // of the open card, nil for none
	target    place           // of the card that the click names
	at        place           // of the card where the notice stands
	also      []*message
	renamed   map[string]string // values of choices of the open card that have changed
	opened    map[string]tree   // questions on the page, by id; see readOpened
}

var errNoForm = errors.New("the text is no form")

func parse(text string) (tree, error) {
	root, err := markup.ReadTree(text)
	if err != nil || root.Kind != markup.Mapping {
		return none, errors.Join(errNoForm, err)
	}
	return root, nil
}

func newEditor(r Result, c Context) (e *editor, err error) {
	e = &editor{Context: c, Result: r, renamed: map[string]string{}}
	if r.known != nil {
		e.root = r.known.root
		return e, nil
	}
	e.root, err = parse(r.Text)
	return e, err
}

// meaning reads the form of a text, without problems that the builder finds itself, and without numbers of lines.
func (c Context) meaning(text string, root tree) *reading {
	block, all := markup.ParseForm(c.PageID, c.Lang, []byte(text), c.Options)
	r := &reading{root: root, form: block.Form}
	for _, d := range all {
		if unfinished.MatchString(d.Message) {
			continue
		}
		d.Message = onLine.ReplaceAllString(d.Message, "")
		r.diagnostics = append(r.diagnostics, d)
	}
	return r
}

var (
	onLine     = regexp.MustCompile(`(?:, first)? on line \d+`)
	unfinished = regexp.MustCompile("^(?:fields|options) is an empty list$| without options")
)

// cards yields sections and questions in the order of the form.
func cards(root tree) iter.Seq2[place, tree] {
	return func(yield func(place, tree) bool) {
		for i, card := range get(root, fieldsKey).Items {
			path := place{fieldsKey, i}
			if card.Kind == markup.Mapping && !yield(path, card) {
				return
			}
			for rest, question := range cards(card) {
				if !yield(append(slices.Clip(path), rest...), question) {
					return
				}
			}
		}
	}
}

// A section may have the id of a question as its name.
const ofSection = "section:"

// nameOf returns the id of a question, or the name of a section after ofSection.
func nameOf(card tree) string {
	if isSection(card) {
		return ofSection + get(card, sectionKey).Text
	}
	return get(card, "id").Text
}

// find returns the card of a name.
func (e *editor) find(name string) (place, tree) {
	for path, card := range cards(e.root) {
		if nameOf(card) == name {
			return path, card
		}
	}
	return nil, none
}

// label is what people call a question or section.
func (c Context) label(card tree) string {
	for _, key := range []string{"label", "title", "id", sectionKey} {
		if text := c.words(get(card, key)); text != "" {
			return text
		}
	}
	return ""
}

// readOpened returns the questions that are on the page. Without a form there, it finds none.
func (e *editor) readOpened() map[string]tree {
	if e.opened == nil {
		opened, _ := markup.ReadTree(e.Opened)
		e.opened = byName(opened)
	}
	return e.opened
}

func byName(root tree) map[string]tree {
	all := map[string]tree{}
	for _, card := range cards(root) {
		all[nameOf(card)] = card
	}
	return all
}

// onPage returns a question as it is on the page.
func (e *editor) onPage(card tree) tree {
	for _, id := range append([]string{nameOf(card)}, texts(get(card, "was"))...) {
		if opened, found := e.readOpened()[id]; found {
			return opened
		}
	}
	return none
}

// change makes another form.
func (e *editor) change(root tree) { e.put(root, changes(nil, e.root, root)...) }

// put makes another form by changes of the text. Cards in use are followed by their names.
func (e *editor) put(root tree, list ...markup.Change) {
	former := e.root
	e.root, e.queue = root, append(e.queue, list...)
	for _, path := range []*place{&e.path, &e.target} {
		old, _ := former.Get(*path)
		if now, _ := root.Get(*path); nameOf(now) != nameOf(old) {
			if found, _ := e.find(nameOf(old)); found != nil {
				*path = found
			}
		}
	}
}

// moveTo moves a card. Its bytes go with it.
func (e *editor) moveTo(from, to place) {
	card, _ := e.root.Get(from)
	e.put(splice(splice(e.root, from, 1), to, 0, card), markup.Change{Do: markup.Move, Path: from, To: to})
}

// commit changes the text, unless that makes an error: then it says why, and where.
func (e *editor) commit() (why *message, at place) {
	if len(e.queue) == 0 {
		return nil, nil
	}
	text, copied, err := markup.Edit(e.Text, e.queue...)
	if err != nil {
		return forms.Say("This can't be changed here. Change it in the text."), nil
	}
	read := e.meaning(text, e.root)
	if read.form == nil {
		former := e.meaning(e.Text, none).diagnostics
		for _, d := range read.diagnostics {
			isSame := func(old markup.Diagnostic) bool { return old.Message == d.Message }
			if d.Severity == markup.Error && !slices.ContainsFunc(former, isSame) {
				at = markup.PathAt(text, d.Line, d.Column)
				return e.why(at), at
			}
		}
	}
	if copied {
		e.also = append(e.also, forms.Say("A list that others share was copied to this place first."))
	}
	e.Text, e.known = text, read
	return nil, nil
}

// cardPath is the part of a path that leads to a card, nil if it leads elsewhere.
func cardPath(path place) place {
	end := 0
	for end+1 < len(path) && path[end] == fieldsKey {
		end += 2
	}
	return path[:end]
}

// keyAt returns the key that a path leads to in a card or in the form.
func keyAt(path place) string {
	if rest := path[len(cardPath(path)):]; len(rest) > 0 {
		key, _ := rest[0].(string)
		return key
	}
	return ""
}

// why says why something must not be changed: it made an error at a path.
func (e *editor) why(at place) *message {
	key, path := keyAt(at), cardPath(at)
	card, _ := e.root.Get(path)
	switch say := faults[key]; {
	case say == nil:
		return forms.Say("This would make an error. Change it in the text.")
	case key == "showIf" && len(path) > 2:
		return forms.Say(
			"“{0}” has its own condition. Remove it first, or give the condition to the section.", e.label(card))
	case key != "id" && len(path) > 0 && !slices.Equal(path, e.path):
		return forms.Say("“{0}” depends on it. Change that question first.", e.label(card))
	default:
		return say
	}
}

// fault says why a control was not applied. The first fault gets the focus.
func (e *editor) fault(control string, say *message) {
	if e.faults == nil {
		e.faults, e.Focus, e.Notice = map[string]*message{}, control, say
		if strings.HasPrefix(control, "q-") {
			e.At = e.Open
		}
	}
	e.faults[control] = say
}

// controlOf names the controls of keys that are called otherwise.
var controlOf = map[string]string{
	"opens": "opens-day", "closes": "closes-day", "scale": "scale-0", "options": "choice", "showIf": "show",
}

// controlAt returns the control of a path.
func controlAt(at place) string {
	prefix := "f-"
	if len(cardPath(at)) > 0 {
		prefix = "q-"
	}
	return prefix + cmp.Or(controlOf[keyAt(at)], keyAt(at))
}
