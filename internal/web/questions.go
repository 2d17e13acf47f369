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

// card is a card of a page.
type card struct {
	builder.Card
	Page     *authorPage
	Words    choice    // its label
	Question *question // as people see it; nil for sections, and if it can't be shown
}

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

// press does what a button says, and shows the text after that.
func (c *call) press(page *authorPage, do string, sent url.Values) error {
	page.Tab = cmp.Or(sent.Get(tabControl), tabQuestions)
	page.Result = builder.Result{Text: strings.ToValidUTF8(lineFeeds(sent.Get(textControl)), "\uFFFD")}
	do, page.sure = strings.CutSuffix(do, "-anyway")
	action, turns, writes := do, false, false
	switch {
	case slices.Contains(writing, do):
		action, writes = "done", true
	case slices.Contains([]string{tabQuestions, tabText, tabPreview}, do):
		action, turns = "apply", true
	case do == "":
		action = "apply"
	}
	if do == "discard" {
		page.Result = page.Start
	} else if page.Tab == tabQuestions {
		if err := c.change(page, action, sent); err != nil {
			return err
		}
	}
	if turns && !page.Result.Refused() {
		page.Tab, page.Result.Notice = do, nil
	}
	if writes {
		return c.write(page, do, sent)
	}
	return c.showAuthor(page)
}

// change changes the text by a click. A text that can't be parsed stays as it is: the tab of the text says why.
func (c *call) change(page *authorPage, action string, sent url.Values) (err error) {
	if err := c.takeTurn(); err != nil { // see showAuthor
		return err
	}
	for name := range sent {
		if box, isBox := strings.CutSuffix(name, "-off"); isBox && !sent.Has(box) { // a box that is off sends nothing
			sent.Set(box, "")
		}
	}
	if page.Block != nil {
		page.known.Taken, err = page.Block.StoredIDs(c.Context())
	}
	if result, unread := builder.Do(page.Result.Text, action, sent, page.known); unread == nil {
		page.Result = result
	}
	return err
}

// showCards reads the cards of a text. It returns false if the text can't be parsed.
func (c *call) showCards(page *authorPage) bool {
	form, err := builder.Read(page.Result, page.known)
	if err != nil {
		return false
	}
	now := c.Backend.Service.Now()
	page.Form, page.Zone = form, now.Location().String()
	page.Name.Label = cmp.Or(form.Settings["title"].Value, page.PageTitle)
	for _, of := range form.Cards {
		view := card{Card: of, Page: page, Words: choice{Label: of.Label, Lang: page.TextLang}}
		if of.Field != nil {
			field := *of.Field
			field.ID = "shown-" + of.Key // no control of the page has this name
			shown := &forms.Form{Fields: []*forms.Field{&field}}
			b := questionBuilder{form: shown, fields: shown.Index(), with: filling{
				lang: c.Lang, values: shown.Defaults(now), tag: page.TextLang,
				maxFile: c.Backend.Service.MaxFile(), today: c.Backend.Service.Today(),
			}}
			view.Question = b.question(0, "shown-"+idOf(of.Key), false)
		}
		page.Cards = append(page.Cards, view)
	}
	return true
}
