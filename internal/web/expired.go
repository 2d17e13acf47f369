package web

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
)

// Names of the controls that are no answers. Ids of fields never begin with "_".
const (
	keyControl      = "_key"      // of the create: it makes sending a form twice harmless
	tagControl      = "_tag"      // of the state of the submission that is changed
	forControl      = "_for"      // keyed hash of the user that the page was made for
	updateControl   = "_update"   // the button "Update questions"; with langName the one beside the languages
	removeControl   = "_remove"   // files to remove; see withoutRemoved
	shownControl    = "_shown"    // ids of fields with checkboxes that were shown
	promiseControl  = "_promise"  // what the page says about the sender's name
	nextControl     = "_next"     // the button "Next", which saves what was typed
	setControl      = "_set"      // the page of a submission sends what editors answer, and no other questions
	labelsControl   = "_labels"   // see labelsOf
	nameControl     = "_username" // of a sign-in with the form of an expired session
	passwordControl = "_password"
)

// maxForm bounds the body of a form without answers, such as the sign-in.
const maxForm = 64 << 10

// Bounds of the form of an expired session. It comes without credentials, so it
// gets little memory and little time.
const (
	maxExpired       = 2 * maxForm // bytes
	maxExpiredValues = 500
	expiredReadTime  = 30 * time.Second
)

// askToSignIn answers a request without a session. The form of an expired session
// comes back with the sign-in page, and is shown again after the sign-in.
func (c *call) askToSignIn(resume resumer) error {
	if !c.maySignIn() {
		return c.offerNewTab(c.URL.EscapedPath(), notEncrypted)
	}
	if c.Method != http.MethodPost {
		return c.redirect(c.path("/login") + "?next=" + url.QueryEscape(c.URL.RequestURI()))
	}
	if err := request.CheckOrigin(c.Request); err != nil {
		return err
	}
	typed, err := c.readExpiredForm()
	if err != nil {
		return err
	}
	name, password := typed.Get(nameControl), typed.Get(passwordControl)
	tried := typed.Has(passwordControl) && !typed.Has(updateControl)
	for _, control := range []string{nameControl, passwordControl, updateControl, langControl} {
		typed.Del(control)
	}
	if !tried {
		return c.render(http.StatusForbidden, "login", c.expiredPage(typed, name))
	}
	who, err := c.signIn(name, password)
	if err != nil {
		c.Log.SetUser("") // as with any failed login: the address, and no name
		return c.refuseSignIn(c.expiredPage(typed, name), err)
	}
	c.Who = who
	if resume == nil || typed.Get(forControl) != c.hashUser() {
		return c.redirect(c.URL.EscapedPath())
	}
	return resume(c, typed)
}

// expiredPage is the sign-in page with the form of an expired session in it.
func (c *call) expiredPage(typed url.Values, name string) *signInPage {
	page := c.newSignInPage("")
	page.Action, page.Name, page.Expired, page.Typed = c.URL.RequestURI(), name, true, hiddenValues(typed)
	page.Notice = c.Lang.Text("You are not signed in any more. Sign in, and what you have typed is there again. " +
		"Nothing was sent yet. Files are not kept: choose them again after the sign-in.")
	return page
}

var errUnreadable = request.NewStatusError(http.StatusBadRequest,
	forms.Say("The form can't be read. Open the page again, and try once more."))

var errExpiredTooLarge = request.NewStatusError(http.StatusRequestEntityTooLarge,
	forms.Say("You are not signed in any more, and what was sent is more than can be kept while you sign in: "+
		"128 KiB, without files. "+
		"Nothing was stored. Sign in in another tab, then go back to the form and send it again. "+
		"If your browser shows an empty form, fill it in once more."))

var errSignedOut = request.NewStatusError(http.StatusForbidden,
	forms.Say("You are not signed in any more, and nothing was changed. "+
		"Go back, copy what you have typed, and sign in again."))

// readExpiredForm reads a form that comes without a session.
func (c *call) readExpiredForm() (url.Values, error) {
	if err := c.HoldSignedOut(); err != nil {
		c.CloseUnread(c.w)
		return nil, err
	}
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Now().Add(expiredReadTime))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	typed, err := c.readForm(maxExpired, errExpiredTooLarge)
	if err == nil && len(hiddenValues(typed)) > maxExpiredValues {
		err = errExpiredTooLarge
	}
	return typed, err
}

// readForm reads a form. tooLarge is the answer to a body of more than limit bytes, before
// it is read if its length is known: a client that sends slowly need not send it all.
func (c *call) readForm(limit int64, tooLarge error) (url.Values, error) {
	if c.ContentLength > limit {
		c.CloseUnread(c.w)
		return nil, tooLarge
	}
	values, err := request.ReadForm(c.Header, http.MaxBytesReader(c.w, c.Body, limit))
	if err == nil {
		c.takeLanguageOf(values)
		return values, nil
	}
	c.CloseUnread(c.w)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	if status, ok := errors.AsType[*request.StatusError](c.ReadError(err)); ok {
		return nil, status
	}
	return nil, errUnreadable
}
