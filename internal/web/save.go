package web

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/web/builder"
)

// Buttons of the author's page that write. An -anyway button has been told what that does.
const (
	doSave         = "save"
	doSaveAnyway   = "save-anyway"
	doOverwrite    = "overwrite" // with overControl
	doFormer       = "former"
	doCreate       = "create" // a new page
	doPeople       = "people"
	doPeopleAnyway = "people-anyway"
	doRemove       = "remove"
)

var writing = []string{doSave, doSaveAnyway, doOverwrite, doFormer, doCreate, doPeople, doPeopleAnyway, doRemove}

const (
	openedControl = "_opened" // the text on the page when the author began
	overControl   = "_over"   // the tag of the text that an author has seen, and writes over
)

// saving is what the author's page says about saving.
type saving struct {
	NotSaved *forms.Message // why nothing can be saved; nil if it can
	Opened   string         // see openedControl
	Asked    *asked
	Address  string        // of the form on the page, with the server
	Settings *pageSettings // nil if nothing can be saved
	Errors   []errorLine   // why the form was not saved
}

// TemplatePath is where a new form with a template begins.
func (p *authorPage) TemplatePath(name string) string {
	query := url.Values{"template": {name}}
	if p.addTo > 0 {
		query.Set(addParameter, formatID(p.addTo))
	}
	return p.Call.newPath(query)
}

// asked is what an author reads before something is written.
type asked struct {
	Do       string // the button that writes
	Changes  []*forms.Message
	Warnings []warning
	Over     string // see overControl; "" if this is no conflict
	Gone     bool   // the form has left the page
}

// warning is a warning about a text.
type warning struct {
	markup.Diagnostic
	Say *forms.Message // in people's words; nil if there are none
}

func warningsOf(diagnostics []markup.Diagnostic) (list []warning) {
	for _, d := range diagnostics {
		list = append(list, warning{Diagnostic: d})
	}
	return list
}

// inWords tells people who have never seen a text what a change does to stored answers. It returns nil for what no
// click causes. Questions and choices that are gone are in the form before it, which may be nil.
func inWords(f forms.Finding, former, now *forms.Form) *forms.Message {
	var field *forms.Field
	for _, form := range []*forms.Form{now, former} {
		if form != nil && form.Index().Rank(f.FieldID) >= 0 {
			field = form.Fields[form.Index().Rank(f.FieldID)]
		}
	}
	if field == nil {
		return nil
	}
	var values []string
	for _, value := range f.Values {
		values = append(values, field.LabelOf(value))
	}
	switch {
	case f.Code == forms.CodeFieldGone:
		return forms.SayN("{0} of {1} submissions answers “{2}”, which you deleted. "+
			"The answers are kept: put the question back, and they return.",
			"{0} of {1} submissions answer “{2}”, which you deleted. "+
				"The answers are kept: put the question back, and they return.", f.Count, f.Of, field.Label)
	case f.Code == forms.CodeValueRefused && values != nil:
		return forms.SayN("{0} of {1} submissions answers “{2}” with a choice that is gone: {3}. The answers are kept.",
			"{0} of {1} submissions answer “{2}” with a choice that is gone: {3}. The answers are kept.",
			f.Count, f.Of, field.Label, values)
	case f.Code == forms.CodeRequiredMissing:
		return forms.SayN("{0} of {1} submissions has no answer to “{2}”, which is required now. They stay as they are.",
			"{0} of {1} submissions have no answer to “{2}”, which is required now. They stay as they are.",
			f.Count, f.Of, field.Label)
	}
	return nil
}

// whyNotSaved returns the message of an error, nil for none.
func (c *call) whyNotSaved(err error) *forms.Message {
	if err == nil {
		return nil
	}
	return request.FailureOf(c.Context(), err).Detail
}

// checkWrite refuses what no page of this server has sent. CheckOrigin lets programs through that are no browsers.
func (c *call) checkWrite(sent url.Values) error {
	site := c.Header.Get("Sec-Fetch-Site")
	if site != "same-origin" && (site != "" || c.Header.Get("Origin") == "") {
		return request.NewStatusError(http.StatusForbidden, forms.Say("Forms are saved from a page of this server only."))
	}
	if sent.Get(forControl) != c.hashUser() {
		return errOtherUser
	}
	return nil
}

// write does what a button says that writes.
func (c *call) write(page *authorPage, do string, result builder.Result, sent url.Values) error {
	defer c.endTurn()
	if err := c.checkWrite(sent); err != nil {
		return err
	}
	result.Notice = nil
	isSettings := do == doPeople || do == doPeopleAnyway || do == doRemove || do == doFormer
	if page.NotSaved == nil && !isSettings {
		if err := c.findErrors(page, result); err != nil {
			return err
		}
		if page.Errors != nil {
			return c.showAuthor(page, result)
		}
	}
	switch {
	case page.NotSaved != nil:
		return c.refuse(page, result, page.NotSaved)
	case isSettings && (page.block == nil || result.Text != page.block.Text):
		return c.refuse(page, result, forms.Say("Save or discard your changes to the form first."))
	case do == doRemove:
		return c.removeForm(page, result)
	case do == doPeople || do == doPeopleAnyway:
		return c.savePeople(page, do, result)
	case do == doFormer:
		result.Text, _ = page.block.Former()
	case do == doOverwrite:
		page.Tag = sent.Get(overControl)
	case page.block == nil && page.addTo == 0:
		return c.saveNew(page, do, result, sent)
	}
	return c.save(page, do, result)
}

// findErrors adds what keeps a form from being saved, with links to where it is.
func (c *call) findErrors(page *authorPage, result builder.Result) error {
	if err := c.takeTurn(); err != nil {
		return err
	}
	form, err := builder.Read(result, c.builder(page))
	if err != nil || !form.Broken && !result.Refused() {
		return nil //nolint:nilerr // the tab of the text says what is wrong
	}
	add := func(id, text string) {
		if page.Tab == tabText {
			id = textControl // it has no cards
		}
		page.Errors = append(page.Errors, errorLine{"#" + id, text})
	}
	addCard := func(card builder.Card, controls map[string]builder.Control) {
		for _, name := range slices.Sorted(maps.Keys(controls)) {
			if fault := controls[name].Fault; fault != nil {
				add(strings.Replace(controls[name].Name, builder.ChoiceControl, "q-choices", 1), c.Lang.Say(fault))
			}
		}
		for _, p := range card.Problems {
			if p.Severity == markup.Error {
				text := cmp.Or(c.Lang.Say(p.Say), p.English)
				if card.Label != "" {
					text = c.Lang.Text("{0}: {1}", card.Label, text)
				}
				add("card-"+idOf(card.Key), text)
			}
		}
	}
	addCard(builder.Card{Problems: form.Problems}, form.Settings)
	for _, card := range form.Cards {
		var controls map[string]builder.Control
		if card.Open != nil {
			controls = card.Open.Controls
		}
		addCard(card, controls)
	}
	page.Notice = c.Lang.Text("Nothing was saved. Your text is still below.")
	return nil
}

// refuse shows the page again, and why nothing was saved.
func (c *call) refuse(page *authorPage, result builder.Result, why *forms.Message) error {
	page.Notice = c.Lang.Say(why)
	return c.showAuthor(page, result)
}

// save puts a form on its page, unless the author has to be asked first.
func (c *call) save(page *authorPage, do string, result builder.Result) (err error) {
	if page.block == nil {
		if result.Text, err = c.nameForm(page, result.Text); err != nil {
			return c.refuse(page, result, c.whyNotSaved(err))
		}
	}
	block, _ := markup.ParseForm(page.PageID, page.lang, []byte(result.Text), c.Site.Markup)
	if block.Form == nil {
		return c.refuse(page, result, forms.Say("A form with errors can't be saved."))
	}
	before := ""
	if page.block != nil {
		before = page.block.Text
	}
	changes, _ := builder.Changes(before, result.Text, c.builder(page)) // a broken form has no questions to compare
	if do == doSave || do == doFormer {
		warnings, err := c.newWarnings(page, result.Text)
		if err != nil {
			return err
		}
		if len(warnings) > 0 {
			page.Asked = &asked{Do: doSaveAnyway, Changes: changes, Warnings: warnings}
			return c.showAuthor(page, result)
		}
	}
	if page.block == nil {
		_, err = c.Backend.Service.AddForm(c.Context(), c.Who, page.addTo, result.Text)
	} else {
		err = page.block.Save(c.Context(), page.Tag, result.Text)
	}
	if err != nil {
		return c.notSaved(page, result, err)
	}
	d := done{Text: c.Lang.Text("Saved."), Changes: c.sayAll(changes), Saved: true}
	if page.Settings != nil && page.Settings.Typed {
		d.Text, d.People = c.Lang.Text("Saved. The people are not saved yet: press “Save people”."), &page.Settings.People
	}
	return c.goTo(c.authorPath(page.PageID, block.Form.ID), d)
}

// notSaved shows the page again with the author's text, and why it was not saved.
func (c *call) notSaved(page *authorPage, result builder.Result, err error) error {
	conflict, ok := errors.AsType[*service.Conflict](err)
	if !ok {
		failure := request.FailureOf(c.Context(), err)
		if failure.Log {
			c.LogError("save a form", err)
		}
		if invalid, ok := errors.AsType[*forms.Invalid](err); ok {
			failure.Detail = forms.Join(otherErrors(invalid, nil))
		}
		return c.refuse(page, result, failure.Detail)
	}
	page.Asked = &asked{Do: doOverwrite, Over: markup.Tag(conflict.Text), Gone: conflict.Text == ""}
	page.Asked.Changes, _ = builder.Changes(page.Opened, conflict.Text, c.builder(page)) // the same
	return c.showAuthor(page, result)
}

var numbers = regexp.MustCompile(`\d+`)

// newWarnings returns the warnings of a text that the form on the page has not. Counts in them don't matter. The text
// has its exact words.
func (c *call) newWarnings(page *authorPage, text string) ([]warning, error) {
	warnings, err := c.warnings(page, text)
	if err != nil || len(warnings) == 0 || page.block == nil {
		return warnings, err
	}
	former, err := c.warnings(page, page.block.Text)
	warnings = slices.DeleteFunc(warnings, func(w warning) bool {
		return slices.ContainsFunc(former, func(f warning) bool {
			return numbers.ReplaceAllString(f.Message, "") == numbers.ReplaceAllString(w.Message, "")
		})
	})
	for i := range warnings {
		if page.Tab == tabText {
			warnings[i].Say = nil
		}
	}
	return warnings, err
}

// warnings returns the warnings of a text, and of its effects on stored submissions.
func (c *call) warnings(page *authorPage, text string) ([]warning, error) {
	if err := c.takeTurn(); err != nil {
		return nil, err
	}
	block, diagnostics := markup.ParseForm(page.PageID, page.lang, []byte(text), c.Site.Markup)
	if block.Form == nil || page.block == nil {
		return warningsOf(diagnostics), nil
	}
	found, _, err := c.compare(page, text, block)
	return append(warningsOf(diagnostics), found...), err
}

func (c *call) sayAll(messages []*forms.Message) (texts []string) {
	for _, m := range messages {
		texts = append(texts, c.Lang.Say(m))
	}
	return texts
}

// done tells people of a change that they have just made.
type done struct {
	Text    string
	Changes []string
	Saved   bool        // a form, whose draft goes
	Undo    url.Values  // of the button that takes it back; nil for none
	People  *peopleForm // typed in the settings, and not saved; nil for none
}

// Hidden are the controls of Undo.
func (d *done) Hidden() []hiddenValue { return hiddenValues(d.Undo) }

// For is what pages that the caller sends have in forControl.
func (c *call) For() string { return c.hashUser() }

// doneParameter of an address holds a done, encrypted.
const doneParameter = "saved"

// goTo leads to a page, which tells of a change. A reload of that page does nothing again.
func (c *call) goTo(path string, d done) error {
	path, query, _ := strings.Cut(path, "?")
	sealed := c.seal(d, "")
	if len(sealed) > maxOutcomeAddress/2 {
		d.Changes = nil
		sealed = c.seal(d, "")
	}
	return c.redirect(withQuery(path, query, doneParameter+"="+sealed))
}

// done reads from the address which change was made. It is nil if nothing was, or not by this user.
func (c *call) done() *done {
	var d done
	if c.Method != http.MethodGet || !c.unseal(doneParameter, "", &d) {
		return nil
	}
	return &d
}
