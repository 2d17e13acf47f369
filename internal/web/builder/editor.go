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

// editor changes a form.
type editor struct {
	Context
	Result
	verb, arg string           // of the action
	document  *markup.Document // with all changes
	root      tree             // of document
	cards     named            // of document
	stuck     bool             // a change can't be made in place
	path      place            // of the open card, nil for none
	target    place            // of the card that the click names
	at        place            // of the card where the notice stands
	also      []*message
	renamed   map[string]string // values of choices of the open card that have changed
	opened    named             // on the page; see readOpened
	before    tree              // root before the click, with the id that the open card has now
}

// reading is the meaning of a text. To read a large one takes a while.
type reading struct {
	*markup.Document
	markup.Block
	diagnostics []markup.Diagnostic
}

var errNoForm = errors.New("the text is no form")

func parse(text string) (*markup.Document, error) {
	document, err := markup.ReadDocument(text)
	if err == nil && document.Tree.Kind != markup.Mapping {
		err = errNoForm
	}
	return document, err
}

func newEditor(r Result, c Context) (e *editor, err error) {
	e = &editor{Context: c, Result: r, renamed: map[string]string{}}
	if e.known.Document == nil || e.known.String() != r.Text { // others may have put another text
		e.known = reading{}
		e.known.Document, err = parse(r.Text)
	}
	e.take(e.known.Document)
	return e, err
}

func (e *editor) take(document *markup.Document) {
	e.document, e.root, e.cards = document, document.Tree, byName(document.Tree)
}

var (
	onLine     = regexp.MustCompile(`(?:, first)? on line \d+`)
	unfinished = regexp.MustCompile("^(?:fields|options) is an empty list$| without options")
)

// read reads the form of a text, without problems that the builder finds itself, and without numbers of lines.
func (c Context) read(document *markup.Document) reading {
	block, all := markup.ParseForm(c.PageID, c.Lang, []byte(document.String()), c.Options)
	all = slices.DeleteFunc(all, func(d markup.Diagnostic) bool { return unfinished.MatchString(d.Message) })
	for i := range all {
		all[i].Message = onLine.ReplaceAllString(all[i].Message, "")
	}
	return reading{document, block, all}
}

// cards yields sections and questions in the order of the form.
func cards(root tree) iter.Seq2[place, tree] {
	return func(yield func(place, tree) bool) {
		for i, card := range get(root, fieldsKey).Items {
			path := place{fieldsKey, i}
			if card.Kind == markup.Mapping && !yield(path, card) {
				return
			}
			for rest, question := range cards(card) {
				if !yield(join(path, rest...), question) {
					return
				}
			}
		}
	}
}

const fieldsKey, sectionKey = "fields", "section"

func isSection(card tree) bool { return slices.Contains(card.Keys, sectionKey) }

// A section may have the id of a question as its name.
const ofSection = "section:"

// nameOf returns the id of a question, or the name of a section after ofSection.
func nameOf(card tree) string {
	if isSection(card) {
		return ofSection + get(card, sectionKey).Text
	}
	return get(card, "id").Text
}

// named are questions and sections by their names.
type named map[string]located

type located struct {
	place
	tree
}

func byName(root tree) named {
	all := named{}
	for path, card := range cards(root) {
		all[nameOf(card)] = located{path, card}
	}
	return all
}

// former returns what a question or section was before, maybe under another name.
func (n named) former(card tree) tree {
	for _, name := range append([]string{nameOf(card)}, texts(get(card, "was"))...) {
		if former := n[name].tree; !isNone(former) {
			return former
		}
	}
	return none
}

// readOpened returns the questions that are on the page. Without a form there, it finds none.
func (e *editor) readOpened() named {
	if e.opened == nil {
		opened, _ := markup.ReadTree(e.Opened)
		e.opened = byName(opened)
	}
	return e.opened
}

// text is the text of a question, or the title of a section.
func (c Context) text(card tree) string {
	return cmp.Or(c.words(get(card, "label")), c.words(get(card, "title")))
}

// label is what people call a question or section.
func (c Context) label(card tree) string {
	label := c.text(card)
	if label == "" && unnamed.MatchString(nameOf(card)) {
		label = c.Untitled
	}
	return cmp.Or(label, strings.TrimPrefix(nameOf(card), ofSection))
}

// do makes changes. Cards in use are followed by their names.
func (e *editor) do(list ...markup.Change) {
	document, copied, err := e.document.Edit(list...)
	if err != nil {
		e.stuck = true
		return
	}
	if copied {
		e.also = append(e.also, forms.Say("A list that others share was copied to this place first."))
	}
	former := e.root
	e.take(document)
	for _, path := range []*place{&e.path, &e.target} {
		name := nameOf(get(former, *path...))
		if found := e.cards[name].place; found != nil && nameOf(get(e.root, *path...)) != name {
			*path = found
		}
	}
}

// change makes another form.
func (e *editor) change(root tree) { e.do(changes(nil, e.root, root)...) }

// commit takes the changes, unless they make an error: then it says why, and at which control.
func (e *editor) commit() (why *message, control string) {
	switch {
	case e.stuck:
		return forms.Say("This can't be changed here. Change it in the text."), ""
	case e.document == e.known.Document:
		return nil, ""
	}
	now := e.read(e.document)
	if now.Form == nil {
		former := map[string]bool{}
		for _, d := range e.read(e.known.Document).diagnostics {
			former[d.Message] = true
		}
		for _, d := range now.diagnostics {
			if d.Severity == markup.Error && !former[d.Message] {
				return e.why(e.document.PathAt(d.Line, d.Column))
			}
		}
	}
	e.Text, e.known = e.document.String(), now
	return nil, ""
}

// cardAt returns the part of a path that leads to a card, if any, and the next key.
func cardAt(path place) (card place, key string) {
	end := 0
	for end+1 < len(path) && path[end] == fieldsKey {
		end += 2
	}
	if end < len(path) {
		key, _ = path[end].(string)
	}
	return path[:end], key
}

// controlOf names the controls of keys that are called otherwise.
var controlOf = map[string]string{
	"opens": "opens-day", "closes": "closes-day", "scale": "scale-0", "options": "choice", "showIf": "show",
}

// why says why something must not be changed: it made an error at a path.
func (e *editor) why(at place) (say *message, control string) {
	path, key := cardAt(at)
	label, prefix := e.label(get(e.root, path...)), "q-"
	if len(path) == 0 {
		prefix = "f-"
	}
	switch say = faults[key]; {
	case say == nil:
		say = forms.Say("This would make an error. Change it in the text.")
	case key == "showIf" && len(path) > 2:
		say = forms.Say("“{0}” has its own condition. Remove it first, or give the condition to the section.", label)
	case key != "id" && len(path) > 0 && !slices.Equal(path, e.path):
		say = forms.Say("“{0}” depends on it. Change that question first.", label)
	}
	return say, prefix + cmp.Or(controlOf[key], key)
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
