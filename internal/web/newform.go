package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"

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

// openNew opens what a new form starts with: an example, a copy, or one question.
func (c *call) openNew(page *authorPage, query url.Values) (err error) {
	page.PageID, page.people.Edit = authorPageID, []string{c.Who.Name}
	reason := c.Backend.Service.MayAuthor(c.Who)
	if query.Has(addParameter) {
		page.AddTo, _ = request.ParseID(query.Get(addParameter)) // no page has the id 0
		if page.Block, err = c.Backend.Service.NewBlock(c.Context(), c.Who, page.AddTo); err != nil {
			return err
		}
		page.PageID, page.TextLang, reason = page.AddTo, page.Block.Lang, page.Block.MaySave()
	}
	page.NotSaved, page.Start = c.why(reason), builder.New()
	switch {
	case query.Has(copyParameter):
		return c.openCopy(page, query)
	case query.Has("template"):
		return c.openExample(page, query.Get("template"))
	}
	return nil
}

// openExample starts with an example.
func (c *call) openExample(page *authorPage, name string) error {
	for i, example := range examples {
		if example.Name != name {
			continue
		}
		page.Chosen, page.Start = name, builder.Result{Text: exampleText(c.Lang, name)}
		if i > 0 { // the first one alone is translated
			page.TextLang = cmp.Or(page.TextLang, lang.English)
		}
		return nil
	}
	return request.NewStatusError(http.StatusNotFound, forms.Say("There is no template of this name."))
}

// openCopy starts with a form of a page, without what belongs to that one alone.
func (c *call) openCopy(page *authorPage, query url.Values) error {
	pageID, _ := request.ParseID(query.Get(copyParameter)) // no page has the id 0
	block, err := c.Backend.Service.Block(c.Context(), c.Who, pageID, query.Get(formParameter))
	if err != nil {
		return err
	}
	page.people, page.TextLang = block.People(), cmp.Or(page.TextLang, block.Lang)
	tree, _ := markup.ReadTree(block.Text) // else Edit fails
	changes := notCopied(tree, nil)
	text, _, err := markup.Edit(block.Text, changes...)
	page.Start = builder.Result{Text: text}
	if err != nil {
		return request.NewStatusError(http.StatusUnprocessableEntity,
			forms.Say("This form can't be copied here. Copy its text."))
	}
	var dropped []string
	for _, change := range changes {
		dropped = append(dropped, fmt.Sprint(change.Path[len(change.Path)-1]))
	}
	if dropped != nil && !page.Typed {
		page.Notice = c.Lang.Text("This is a copy, without {0}.", slices.Compact(dropped))
	}
	return nil
}

// notCopied removes keys that a copy must not have.
func notCopied(tree markup.Tree, path markup.Path) (changes []markup.Change) {
	for i, item := range tree.Items {
		step := any(i)
		if tree.Kind == markup.Mapping {
			step = tree.Keys[i]
		}
		at := append(slices.Clip(path), step)
		if step == "was" || path == nil && slices.Contains([]any{"opens", "closes", "notify"}, step) {
			changes = append(changes, markup.Change{Do: markup.Delete, Path: at})
		} else {
			changes = append(changes, notCopied(item, at)...)
		}
	}
	return changes
}

// savePage asks for the title and the people of a new page, and makes it.
func (c *call) savePage(page *authorPage, sent url.Values) (err error) {
	if _, page.Diagnostics, _, err = c.diagnose(page, page.Result.Text, false); err != nil {
		return err
	}
	if !page.IsPage {
		page.IsPage, page.People = true, c.peopleForm(page.people)
		all, err := c.Backend.Service.Pages(c.Context(), c.Who)
		for _, known := range all {
			page.After = max(page.After, known.ID)
		}
		return cmp.Or(err, errAsked)
	}
	page.After, _ = request.ParseID(sent.Get(afterControl))
	title := page.Form.Settings["title"].Value
	if title == "" {
		return forms.InvalidField("title", forms.Say("Write a title, on one line."))
	}
	text, err := builder.NameForm(page.Result.Text, nil, page.known)
	if err != nil {
		return err
	}
	pageID, err := c.Backend.Service.NewPage(c.Context(), c.Who,
		markup.NewPage{Title: title, Lang: page.TextLang, People: page.newPeople(), Text: text}, page.After)
	if err != nil {
		return err
	}
	return c.goTo(c.authorPath(pageID, service.FormID(text)), done{Text: c.Lang.Text("Saved."), Saved: true})
}
