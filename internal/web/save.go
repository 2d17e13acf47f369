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

// asked is what an author reads before something is written.
type asked struct {
	Do       string // the button that writes: -anyway has been told what that does
	Changes  []*forms.Message
	Warnings []warning
	Over     string // see overControl; "" if this is no conflict
	Gone     bool   // the form has left the page
}

// writing are the buttons that write.
var writing = []string{"save", "overwrite", "create", "former", "people", "remove"}

// errAsked: nothing was written, and the page says why.
var errAsked = errors.New("the author is asked")

// warning is a warning about a text.
type warning struct {
	markup.Diagnostic
	Say *forms.Message // in people's words; nil if there are none
}

// inWords tells people who have never seen a text what a change does to stored answers. It returns nil for what no
// click causes. Questions and choices that are gone are in the form before it, which may be nil.
func inWords(f forms.Finding, former, now *forms.Form) *forms.Message {
	var field *forms.Field
	if former != nil {
		field = former.Field(f.FieldID)
	}
	if field = cmp.Or(field, now.Field(f.FieldID)); field == nil {
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

// why returns the message of an error, nil for none. A fault of the server is logged.
func (c *call) why(err error) *forms.Message {
	if invalid, ok := errors.AsType[*forms.Invalid](err); ok {
		return forms.Join(otherErrors(invalid, nil))
	}
	if err == nil {
		return nil
	}
	failure := request.FailureOf(c.Context(), err)
	if failure.Log {
		c.LogError("save a form", err)
	}
	return failure.Detail
}

// checkSite refuses to write what no page of this server has sent. CheckOrigin lets programs through that are no
// browsers.
func (c *call) checkSite() error {
	site := c.Header.Get("Sec-Fetch-Site")
	if site != "same-origin" && (site != "" || c.Header.Get("Origin") == "") {
		return request.NewStatusError(http.StatusForbidden, forms.Say("Forms are saved from a page of this server only."))
	}
	return nil
}

// write does what a button says that writes. If that fails, the page is shown again, and says why.
func (c *call) write(page *authorPage, do string, sent url.Values) error {
	defer c.endTurn()
	if err := c.checkSite(); err != nil {
		return err
	}
	if err := c.takeTurn(); err != nil {
		return err
	}
	page.Result.Notice = nil
	page.IsPage = do == "create"
	isSettings := do == "people" || do == "remove" || do == "former"
	var err error
	switch {
	case page.NotSaved != nil:
		err = forms.InvalidRequest(page.NotSaved)
	case isSettings && (page.Tag == "" || page.Result.Refused() || page.Result.Text != page.Start.Text):
		err = forms.InvalidRequest(forms.Say("Save or discard your changes to the form first."))
	case do == "remove":
		err = c.removeForm(page)
	case do == "people":
		err = c.savePeople(page)
	case do != "former" && c.hasErrors(page):
		err = errAsked
	case page.Block == nil:
		err = c.savePage(page, sent)
	default:
		err = c.save(page, do, sent)
	}
	if err == nil {
		return nil
	}
	return c.refuse(page, err)
}

// refuse shows the page again as it was sent, and why nothing was saved.
func (c *call) refuse(page *authorPage, err error) error {
	conflict, isConflict := errors.AsType[*service.Conflict](err)
	invalid, isInvalid := errors.AsType[*forms.Invalid](err)
	switch {
	case isConflict && conflict.People.Edit != nil:
		page.People = c.peopleForm(conflict.People)
		page.Notice = c.Lang.Text("Somebody else has changed the people of this page. " +
			"Nothing was saved. Settings show who is named now.")
	case isConflict:
		page.Asked = &asked{Do: "overwrite", Over: markup.Tag(conflict.Text), Gone: conflict.Text == ""}
		page.Asked.Changes, _ = builder.Changes(page.Opened, conflict.Text, page.known) // see save
	case isInvalid && invalid.Fields != nil:
		page.People.Faults = invalid.Fields
		for _, name := range slices.Sorted(maps.Keys(invalid.Fields)) {
			page.Errors = append(page.Errors, errorLine{"#f-" + name, c.Lang.Say(invalid.Fields[name])})
		}
	case !errors.Is(err, errAsked):
		page.Notice = c.Lang.Say(c.why(err))
	}
	if page.Form == nil || !page.IsPage {
		return c.showAuthor(page)
	}
	page.Layout = c.layout(c.Lang.Text("Save the form"))
	status := http.StatusOK
	if page.Errors != nil {
		status, page.Title = http.StatusUnprocessableEntity, c.Lang.Text("Error: {0}", page.Title)
	}
	return c.render(status, "newform", page)
}

// hasErrors finds what keeps a form from being saved, with links to where it is.
func (c *call) hasErrors(page *authorPage) bool {
	page.Form, _ = builder.Read(page.Result, page.known)
	if page.Form == nil {
		page.Notice = c.Lang.Text("A form with errors can't be saved.")
		return true
	}
	add := func(id, text string) {
		if page.Tab == tabText {
			id = textControl // it has no cards
		}
		page.Errors = append(page.Errors, errorLine{"#" + id, text})
	}
	settings := builder.Card{Problems: page.Form.Problems, Open: &builder.OpenCard{Controls: page.Form.Settings}}
	for _, card := range append([]builder.Card{settings}, page.Form.Cards...) {
		if card.Open != nil {
			for _, name := range slices.Sorted(maps.Keys(card.Open.Controls)) {
				if control := card.Open.Controls[name]; control.Fault != nil {
					add(strings.Replace(control.Name, builder.ChoiceControl, "q-choices", 1), c.Lang.Say(control.Fault))
				}
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
	if page.Errors == nil && !page.Result.Refused() {
		return false
	}
	page.Notice = c.Lang.Text("Nothing was saved. Your text is still below.")
	return true
}

// save puts a form on its page, unless the author has to be asked first.
func (c *call) save(page *authorPage, do string, sent url.Values) error {
	if do == "former" {
		page.Result.Text, _ = page.Block.Former()
	}
	if page.Tag == "" { // the form gets an id that none on the page has or had
		counts, err := page.Block.Counts(c.Context())
		if err == nil {
			page.Result.Text, err = builder.NameForm(page.Result.Text, slices.Collect(maps.Keys(counts)), page.known)
		}
		if err != nil {
			return err
		}
	}
	changes, _ := builder.Changes(page.Block.Text, page.Result.Text, page.known) // a broken form has nothing to compare
	if do == "overwrite" {
		page.Tag = sent.Get(overControl)
	} else if !page.sure {
		warnings, err := c.newWarnings(page)
		if err != nil {
			return err
		}
		if len(warnings) > 0 {
			page.Asked = &asked{Do: "save-anyway", Changes: changes, Warnings: warnings}
			return errAsked
		}
	}
	if err := page.Block.Save(c.Context(), page.Tag, page.Result.Text); err != nil {
		return err
	}
	d := done{Text: c.Lang.Text("Saved."), Saved: true}
	if page.People.Typed {
		d.Text, d.People = c.Lang.Text("Saved. The people are not saved yet: press “Save people”."), page.People
	}
	return c.goTo(c.authorPath(page.PageID, service.FormID(page.Result.Text)), d, changes...)
}

var numbers = regexp.MustCompile(`\d+`)

// newWarnings returns the warnings of the text that the form on the page has not. Counts in them don't matter.
func (c *call) newWarnings(page *authorPage) ([]warning, error) {
	form, warnings, _, err := c.diagnose(page, page.Result.Text, true)
	if form == nil || err != nil { // it can't be saved
		return nil, err
	}
	_, former, _, err := c.diagnose(page, page.Block.Text, true)
	return slices.DeleteFunc(warnings, func(w warning) bool {
		return slices.ContainsFunc(former, func(f warning) bool {
			return numbers.ReplaceAllString(f.Message, "") == numbers.ReplaceAllString(w.Message, "")
		})
	}), err
}

// done tells people of a change that they have just made.
type done struct {
	Text    string
	Changes []string
	Saved   bool       // a form, whose draft goes
	Undo    url.Values // of the button that takes it back; nil for none
	People  peopleForm // typed in the settings, and not saved; zero for none
}

// For is what pages that the caller sends have in forControl.
func (c *call) For() string { return c.hashUser() }

// goTo leads to a page, which tells of a change. A reload of that page does nothing again.
func (c *call) goTo(path string, d done, changes ...*forms.Message) error {
	for _, change := range changes {
		d.Changes = append(d.Changes, c.Lang.Say(change))
	}
	path, query, _ := strings.Cut(path, "?")
	sealed := c.seal(d, "")
	if len(sealed) > maxOutcomeAddress/2 {
		d.Changes = nil
		sealed = c.seal(d, "")
	}
	return c.redirect(withQuery(path, query, outcomeParameter+"="+sealed))
}

// done reads from the address which change was made. It is nil if nothing was, or not by this user.
func (c *call) done() *done {
	var d done
	if c.Method != http.MethodGet || !c.unseal(outcomeParameter, "", &d) {
		return nil
	}
	return &d
}
