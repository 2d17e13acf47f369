package web

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/web/builder"
)

// Parameters of the address of a new form.
const (
	newParameter  = "new"  // tells drafts apart
	addParameter  = "add"  // id of the page that gets it
	copyParameter = "copy" // id of the page of the form that it copies, with formParameter
	formParameter = "form"
)

// newPath is where a new form is written.
func (c *call) newPath(query url.Values) string {
	return withQuery(c.alone().path("/author"), query.Encode())
}

// beginNew leads to an address of its own, which names the draft of one new form. It returns false if there is nothing
// to begin.
func (c *call) beginNew() (bool, error) {
	query := c.URL.Query()
	mayAuthor := c.Backend.Service.MayAuthor(c.Who) == nil
	if query.Has("page") || query.Has(newParameter) || !mayAuthor {
		return false, nil
	}
	query.Set(newParameter, strings.ToLower(rand.Text()[:8]))
	return true, c.redirect(c.newPath(query))
}

// openNew opens what a new form starts with: an example, a copy, or one question.
func (c *call) openNew(page *authorPage, query url.Values) error {
	page.PageID = authorPageID
	address := url.Values{}
	for _, name := range []string{newParameter, addParameter, copyParameter, formParameter, "template"} {
		if query.Has(name) {
			address.Set(name, query.Get(name))
		}
	}
	page.Action = withQuery(page.Action, address.Encode())
	if query.Has(newParameter) {
		page.DraftName = page.For + " " + page.Action
	}
	err := c.Backend.Service.MayAuthor(c.Who)
	if query.Has(addParameter) {
		page.addTo, _ = request.ParseID(query.Get(addParameter)) // no page has the id 0
		view, pageErr := c.Backend.Service.Page(c.Context(), c.Who, page.addTo)
		if pageErr != nil {
			return pageErr
		}
		page.PageID, page.lang, err = page.addTo, view.Lang, view.NotSaved
	}
	page.NotSaved = c.whyNotSaved(err)
	switch {
	case query.Has(copyParameter):
		return c.openCopy(page, query)
	case query.Has("template"):
		return c.openExample(page, query.Get("template"))
	}
	page.start = builder.New()
	return nil
}

// openExample starts with an example.
func (c *call) openExample(page *authorPage, name string) error {
	isName := func(e example) bool { return e.Name == name }
	if !slices.ContainsFunc(examples, isName) {
		return request.NewStatusError(http.StatusNotFound, forms.Say("There is no template of this name."))
	}
	page.Chosen = name
	if name != examples[0].Name {
		page.lang = cmp.Or(page.lang, lang.English) // the first one alone is translated
	}
	page.start.Text = exampleText(c.Lang, name)
	return nil
}

// openCopy starts with a form of a page, without what belongs to that one alone.
func (c *call) openCopy(page *authorPage, query url.Values) error {
	pageID, _ := request.ParseID(query.Get(copyParameter)) // no page has the id 0
	block, err := c.Backend.Service.Block(c.Context(), c.Who, pageID, query.Get(formParameter))
	if err != nil {
		return err
	}
	page.copyOf, page.lang = pageID, cmp.Or(page.lang, block.Lang)
	text, dropped, err := copyOf(block.Text)
	if err != nil {
		return request.NewStatusError(http.StatusUnprocessableEntity,
			forms.Say("This form can't be copied here. Copy its text."))
	}
	page.start.Text = text
	if len(dropped) > 0 && !page.Typed {
		page.Notice = c.Lang.Text("This is a copy, without {0}.", dropped)
	}
	return nil
}

// copyOf returns the text of a form without keys that a copy must not have, and these.
func copyOf(text string) (copied string, dropped []string, err error) {
	tree, err := markup.ReadTree(text)
	var changes []markup.Change
	drop := func(key string, path ...any) {
		if !slices.Contains(dropped, key) {
			dropped = append(dropped, key)
		}
		changes = append(changes, markup.Change{Do: markup.Delete, Path: path})
	}
	for _, key := range []string{"opens", "closes", "notify"} {
		if slices.Contains(tree.Keys, key) {
			drop(key, key)
		}
	}
	var find func(tree markup.Tree, path markup.Path)
	find = func(tree markup.Tree, path markup.Path) {
		for i, item := range tree.Items {
			step := any(i)
			if tree.Kind == markup.Mapping {
				step = tree.Keys[i]
			}
			if at := append(slices.Clip(path), step); step == "was" {
				drop("was", at...)
			} else {
				find(item, at)
			}
		}
	}
	find(tree, nil)
	if err == nil && len(changes) > 0 {
		text, _, err = markup.Edit(text, changes...)
	}
	return text, dropped, err
}

// nameForm gives a form that is added to a page an id that no form of the page has or had.
func (c *call) nameForm(page *authorPage, text string) (string, error) {
	view, err := c.Backend.Service.Page(c.Context(), c.Who, page.addTo)
	if err != nil {
		return text, err
	}
	taken := view.Blocks
	counts, err := c.Backend.Service.Counts(c.Context(), c.Who, page.addTo)
	for id := range counts {
		taken = append(taken, id)
	}
	if err != nil {
		return text, err
	}
	if named, err := builder.NameForm(text, taken, c.builder(page)); err == nil {
		text = named // else its errors are shown
	}
	return text, nil
}

// newFormPage asks what a page with a new form needs.
type newFormPage struct {
	Layout
	Action, For, Text string
	Title             string
	People            peopleForm
	Warnings          []warning
	Errors            []errorLine
	TitleFault        string
}

// saveNew asks for the title and the people of a new page, and makes it.
func (c *call) saveNew(page *authorPage, do string, result builder.Result, sent url.Values) error {
	form, err := builder.Read(result, c.builder(page))
	block, warnings := markup.ParseForm(page.PageID, page.lang, []byte(result.Text), c.Site.Markup)
	if err != nil || block.Form == nil {
		return c.refuse(page, result, forms.Say("A form with errors can't be saved."))
	}
	ask := &newFormPage{
		Layout: c.layout(c.Lang.Text("Save the form")), Action: page.Action, For: page.For, Text: result.Text,
		Title: form.Settings["title"].Value, Warnings: warningsOf(warnings), People: peopleForm{Edit: c.Who.Name},
	}
	if do != doCreate {
		if page.copyOf > 0 {
			people, err := c.Backend.Service.People(c.Context(), c.Who, page.copyOf)
			if err != nil {
				return err
			}
			ask.People = c.peopleForm(people)
		}
		return c.render(http.StatusOK, "newform", ask)
	}
	ask.Title, ask.People = strings.TrimSpace(sent.Get("_title")), sentPeople(sent)
	return c.create(page, ask, form, result)
}

// create makes a page with a new form.
func (c *call) create(page *authorPage, ask *newFormPage, form *builder.Form, result builder.Result) error {
	settings := url.Values{builder.SettingsControl: {"1"}}
	for _, control := range form.Settings {
		settings.Set(control.Name, control.Value)
	}
	settings.Set(form.Settings["title"].Name, ask.Title)
	titled, err := builder.Do(result.Text, "apply", settings, c.builder(page))
	if err != nil {
		return err
	}
	text, err := builder.NameForm(titled.Text, nil, c.builder(page))
	if err != nil {
		return err
	}
	if ask.Title == "" || titled.Refused() {
		ask.TitleFault = c.Lang.Text("Write a title, on one line.")
		ask.Errors = append(ask.Errors, errorLine{"#title", ask.TitleFault})
	}
	var pageID int64
	var formID string
	if ask.TitleFault == "" {
		var people service.People
		if _, people, err = c.readPeople(ask.People); err != nil {
			return err
		}
		pageID, formID, err = c.Backend.Service.NewPage(c.Context(), c.Who,
			service.NewPage{Title: ask.Title, People: people, Text: text})
	}
	if invalid, ok := errors.AsType[*forms.Invalid](err); ok && len(invalid.Fields) > 0 {
		ask.Errors = append(ask.Errors, c.peopleFaults(&ask.People, invalid)...)
	} else if err != nil {
		return c.notSaved(page, result, err)
	}
	if len(ask.Errors) > 0 {
		ask.Layout.Title = c.Lang.Text("Error: {0}", ask.Layout.Title)
		return c.render(http.StatusUnprocessableEntity, "newform", ask)
	}
	return c.goTo(c.authorPath(pageID, formID), done{Text: c.Lang.Text("Saved."), Saved: true})
}
