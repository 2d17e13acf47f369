package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// formPage is a form to fill in.
type formPage struct {
	Layout
	Notes
	Problems Problems
	Waiting  waitingLink
	Form     *formView // nil while the form takes no submission
}

func (c *call) showForm() error {
	access, err := c.Form()
	if isKind(err, service.NotFound) {
		return c.showBroken(err)
	}
	if err != nil {
		return err
	}
	if access.Form.OneSubmission {
		mine, found, err := access.Mine(c.Context())
		if err != nil {
			return err
		}
		if found {
			return c.redirect(c.submissionPath(access.Form, mine))
		}
	}
	page, err := c.newFormPage(access, filling{values: prefilled(access, c.URL.Query())})
	if err != nil {
		return err
	}
	if access.Rights.Edit && !c.Framed {
		waiting, err := c.countWaiting(formCounts, access)
		if err != nil {
			return err
		}
		page.Waiting = waiting[0]
	}
	return c.render(http.StatusOK, "form", page)
}

// prefilled are the defaults, with what the address of the form says instead: ?ID=VALUE,
// several for several values. A value that the field does not take, or not from the
// caller, is ignored.
func prefilled(access *service.Access, query url.Values) []string {
	f, values := access.Form, access.Form.Defaults(access.Now())
	for rank, field := range f.Fields {
		given := query[field.ID]
		for _, id := range field.Was {
			if given == nil {
				given = query[id]
			}
		}
		if given == nil || field.Type == forms.File || !access.MaySet(field) {
			continue
		}
		value := given[0]
		if field.MultiValue() {
			value = strings.Join(given, forms.Separator)
		}
		value = tidyValue(field, field.CurrentValue(value))
		if field.CheckAnswer(forms.Answer{FieldID: field.ID, Value: value}) == nil {
			values[rank] = value
		}
	}
	return values
}

func (c *call) newFormPage(access *service.Access, with filling) (*formPage, error) {
	page := &formPage{Layout: c.formLayout("", access)}
	page.Problems = Problems{List: access.Diagnostics(), Earlier: true} // the link above edits the form
	page.Script, page.About.FormLink, page.About.Shortcuts = "form.js", false, c.shortcuts(access)
	var err error
	if page.About.Findings, err = access.Findings(c.Context()); err != nil {
		return nil, err
	}
	if page.Notes, err = c.notes(access); err != nil {
		return nil, err
	}
	if with.typed { // else it would hide what is wrong, and what was typed
		page.Submitted, page.Closed = false, nil
	}
	if page.Submitted || page.Closed != nil {
		return page, nil
	}
	page.LangForm = "f0"
	page.Form, err = c.createForm(access, page.LangForm, with)
	return page, err
}

// createForm is the view of a form that makes a new submission.
func (c *call) createForm(access *service.Access, id string, with filling) (*formView, error) {
	with.access = access
	v, err := c.formView(id, access.Form, with)
	if err != nil {
		return nil, err
	}
	// What the address fills in is told apart from what is typed: see tidy.
	v.Action, v.Submit = withQuery(c.formPath(access.Form), c.URL.RawQuery), c.Lang.Text("Send")
	v.Hidden = url.Values{
		keyControl: {rand.Text()}, forControl: {c.hashUser()},
		promiseControl: {promiseOf(access.Form)}, labelsControl: {labelsOf(access)},
	}
	v.Draft = c.draftName(access, c.alone().formPath(access.Form))
	return v, nil
}

// draftName names what the caller types into the form at a path, in the browser's
// storage. A copy of answers to an anonymous form would tell who gave them.
func (c *call) draftName(access *service.Access, path string) string {
	if access.Form.Anonymous {
		return ""
	}
	return c.hashUser() + " " + path
}

// hashUser names the caller in the pages that are made for them. A page that one
// user has filled in must not be sent in the name of another.
func (c *call) hashUser() string {
	mac := hmac.New(sha256.New, c.Site.Key)
	mac.Write([]byte("page for " + c.Who.Name))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}

// sendForm takes a form that was filled in. It stores a new submission, or with
// updateControl only shows the form again.
func (c *call) sendForm() error {
	before, err := c.Form()
	if err != nil {
		return err
	}
	sent, access, err := c.receive(before)
	if err != nil {
		return err
	}
	if sent.extra.Has(updateControl) {
		return c.showAgain(access, sent, refusal{status: http.StatusOK})
	}
	if reason := sent.brokenPromise(access.Form); reason != nil {
		c.Log.Anonymous() // as the sender may expect
		access.DropFiles(service.StagedFiles(sent.answers))
		return c.showAgain(access, sent, refusal{status: http.StatusConflict, reason: reason})
	}
	sub, _, err := access.Create(c.Context(), sent.newAnswers(access.Form), sent.createKey(access))
	if invalid, ok := errors.AsType[*forms.Invalid](err); ok {
		return c.showAgain(access, sent, refusal{status: http.StatusUnprocessableEntity, invalid: invalid})
	}
	if err != nil {
		return err
	}
	if access.Form.Anonymous { // an address with its id would tell who has sent it
		return c.redirect(c.formPath(access.Form) + "/sent")
	}
	return c.redirect(c.submissionPath(access.Form, sub.ID) + "?sent")
}

var errOtherUser = request.NewStatusError(http.StatusConflict,
	forms.Say("Somebody else has signed in with this browser since the page was opened. "+
		"Nothing was sent. Open the form again."))

// refusal is why a form is shown again.
type refusal struct {
	status  int
	invalid *forms.Invalid
	reason  *forms.Message // about the form as a whole
	notice  *forms.Message // above the form
}

// showAgain shows the form as it was sent, and why it was not stored.
func (c *call) showAgain(access *service.Access, sent received, why refusal) error {
	empty := filling{values: access.Form.Defaults(access.Now())}
	page, err := c.newFormPage(access, sent.filling(access.Form, empty, nil, why))
	if err != nil {
		return err
	}
	if key := sent.extra.Get(keyControl); key != "" {
		page.Form.Hidden.Set(keyControl, key)
	}
	if why.status != http.StatusOK {
		page.Title = c.Lang.Text("Error: {0}", page.Title)
	}
	page.Notice = c.Lang.Say(why.notice)
	return c.render(why.status, "form", page)
}

// resumeForm shows a form as it was before its user had to sign in again.
func (c *call) resumeForm(typed url.Values) error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	sent := newReceived(typed)
	return c.showAgain(access, sent, refusal{
		status: http.StatusOK, reason: sent.brokenPromise(access.Form), notice: resumedNotice,
	})
}

var resumedNotice = forms.Say("You are signed in again, and the form is as you left it. Nothing was sent yet.")

// sentPage says that an anonymous submission is stored.
type sentPage struct {
	Layout
	Thanks linkedText
}

func (c *call) sent() error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	if !access.Form.Anonymous {
		return c.redirect(c.formPath(access.Form))
	}
	layout := c.formLayout(c.Lang.Text("Sent"), access)
	thanks := linkedText{linkText(access.Form.Thanks), layout.Lang, c.Framed}
	return c.render(http.StatusOK, "sent", &sentPage{layout, thanks})
}
