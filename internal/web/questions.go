package web

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/web/builder"
)

// The views of a form that is written. Buttons of these names show them.
const (
	tabQuestions = "questions"
	tabText      = "text"
	tabPreview   = "preview"
)

const (
	tabControl   = "_tab"
	stepsControl = "_steps" // what Undo takes back: see undo.js
)

// questionsTab is a form as cards.
type questionsTab struct {
	Form   *builder.Form
	Result builder.Result
	Cards  []card
	Zone   string // of opens and closes
}

// card is a card of a page.
type card struct {
	builder.Card
	Page     *authorPage
	Words    choice    // its label
	Question *question // as people see it; nil for sections, and if it can't be shown
}

// TextLang is the language tag of what the author writes, or "".
func (p *authorPage) TextLang() string { return p.lang }

// idOf is the key of a card as part of an element's id.
func idOf(key string) string { return strings.ReplaceAll(key, ".", "_") }

// kindButtons returns the buttons that add a question at a place. A page has many of them, which differ in the place
// alone.
func kindButtons(l *lang.Language) func(place string) template.HTML {
	const place = "\x00"
	var buttons strings.Builder
	for _, kind := range builder.Kinds {
		_, _ = fmt.Fprintf(&buttons, `<li><button type="submit" class="plain" name="_do" value="add:%s:%s">%s</button></li>`,
			place, kind.Name, l.HTML(kind.Say))
	}
	return func(at string) template.HTML {
		return template.HTML(strings.ReplaceAll(buttons.String(), place, at)) //nolint:gosec // a place is numbers and dots
	}
}

// control is a control of a card or of the settings; nil if it is not there.
func control(all map[string]builder.Control, name string) *builder.Control {
	if c, ok := all[name]; ok {
		return &c
	}
	return nil
}

// faulty reports whether one of some controls has a fault.
func faulty(all map[string]builder.Control, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return all[name].Fault != nil })
}

// press does what a button says, and shows the text after that.
func (c *call) press(page *authorPage, do string, sent url.Values) error {
	page.Tab = cmp.Or(sent.Get(tabControl), tabQuestions)
	result := builder.Result{Text: strings.ToValidUTF8(lineFeeds(sent.Get(textControl)), "\uFFFD")}
	turn := do == tabQuestions || do == tabText || do == tabPreview
	writes := slices.Contains(writing, do)
	switch {
	case do == "discard":
		result = page.start
	case page.Tab == tabQuestions:
		action := do
		if turn || do == "" {
			action = "apply"
		}
		if writes {
			action = "done"
		}
		clicked, err := c.clicked(page, result.Text, action, sent)
		if err != nil {
			return err
		}
		if turn = turn && !clicked.Refused(); turn {
			clicked.Notice = nil
		}
		result = clicked
	}
	if turn {
		page.Tab = do
	}
	if writes && !result.Refused() {
		return c.write(page, do, result, sent)
	}
	if writes {
		if err := c.findErrors(page, result); err != nil {
			return err
		}
	}
	return c.showAuthor(page, result)
}

// clicked is the result of a click. A text that can't be parsed stays as it is.
func (c *call) clicked(page *authorPage, text, action string, sent url.Values) (builder.Result, error) {
	if err := c.takeTurn(); err != nil { // see showAuthor
		return builder.Result{}, err
	}
	known := c.builder(page)
	for name := range sent {
		if box, isBox := strings.CutSuffix(name, "-off"); isBox && !sent.Has(box) { // a box that is off sends nothing
			sent.Set(box, "")
		}
	}
	if page.block != nil {
		var err error
		if known.Taken, err = page.block.StoredIDs(c.Context()); err != nil {
			return builder.Result{}, err
		}
	}
	result, err := builder.Do(text, action, sent, known)
	if err != nil {
		return builder.Result{Text: text}, nil //nolint:nilerr // the tab of the text says what is wrong
	}
	return result, nil
}

// builder is what the builder knows besides the text.
func (c *call) builder(page *authorPage) builder.Context {
	words := cmp.Or(lang.Find(page.lang), c.Lang)
	known := builder.Context{
		PageID: page.PageID, Lang: page.lang, Author: c.Lang.Tag, Options: c.Site.Markup, Words: words.Say,
		Untitled: c.Lang.Text("Question without a text"),
	}
	for _, l := range lang.All() {
		known.YesNo = append(known.YesNo, []string{l.Text("Yes"), l.Text("No")})
	}
	if page.block != nil {
		known.Opened = page.Opened
	}
	return known
}

// readCards reads the cards of a text. It returns false if the text can't be parsed.
func (c *call) readCards(page *authorPage, result builder.Result) bool {
	form, err := builder.Read(result, c.builder(page))
	if err != nil {
		return false
	}
	page.Form, page.Result, page.Zone = form, result, c.Backend.Service.Now().Location().String()
	page.Name = choice{Label: cmp.Or(form.Settings["title"].Value, page.PageTitle), Lang: page.lang}
	shown := &forms.Form{}
	for _, card := range form.Cards {
		if card.Field != nil {
			shown.Fields = append(shown.Fields, card.Field)
		}
	}
	b := questionBuilder{form: shown, fields: shown.Index(), with: filling{
		lang: c.Lang, values: shown.Defaults(c.Backend.Service.Now()), tag: page.lang,
		maxFile: c.Backend.Service.MaxFile(), today: c.Backend.Service.Today(),
	}}
	rank := 0
	for _, of := range form.Cards {
		view := card{Card: of, Page: page, Words: choice{Label: of.Label, Lang: page.lang}}
		if of.Field != nil {
			view.Question = b.question(rank, "shown-"+idOf(of.Key), false)
			field := *of.Field
			field.ID = "shown-" + of.Key // no control of the page has this name
			view.Question.Field = &field
			rank++
		}
		page.Cards = append(page.Cards, view)
	}
	return true
}
