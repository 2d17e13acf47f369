package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// Actions of shortcuts.
const (
	doClose   = "close"
	doReopen  = "reopen"
	doUndo    = "undo"    // of doClose: the end was planned for closesControl
	doRestore = "restore" // a form that was removed
)

// Controls of shortcuts.
const (
	pageControl   = "_page"
	formControl   = "_form"
	backControl   = "_back" // the page that has the shortcut: see backTo
	closesControl = "_closes"
	beforeControl = "_before" // see service.Removed
	afterControl  = "_after"
)

// shortcuts are what an editor does with a form from where they see it.
type shortcuts struct {
	*service.Access
	Edit    string // path of its text
	Address string // of the form, with the server

	// For authors who may save there.
	Copy    string // path of a new form with the same questions; "" for others
	Closes  bool   // it is open
	Reopens bool   // it is closed
	Hidden  []hiddenValue
}

// shortcuts returns nil in a frame, and unless the caller may edit the form's page. back is where they are.
func (c *call) shortcuts(access *service.Access, back string) *shortcuts {
	if c.Framed || !access.Rights.Edit {
		return nil
	}
	form := access.Form
	s := &shortcuts{Access: access, Edit: c.authorPath(form.PageID, form.ID), Address: c.address(form)}
	if access.MaySave() != nil {
		return s
	}
	block, err := c.Backend.Service.Block(c.Context(), c.Who, form.PageID, form.ID)
	if err != nil { // it has just gone
		return s
	}
	s.Copy = c.newPath(url.Values{copyParameter: {formatID(form.PageID)}, formParameter: {form.ID}})
	s.Closes = service.Window(form, access.Now()).Reason == nil
	s.Reopens = form.IsOver(access.Now(), access.Now().Location())
	s.Hidden = hiddenValues(url.Values{
		forControl: {c.hashUser()}, tagControl: {block.Tag()}, pageControl: {formatID(form.PageID)},
		formControl: {form.ID}, backControl: {back},
	})
	return s
}

// address is the address of a form's own page, with the server.
func (c *call) address(form *forms.Form) string {
	scheme := "http://"
	if request.IsSecure(c.Request) {
		scheme = "https://"
	}
	return scheme + c.Host + c.alone().formPath(form)
}

func formatID(id int64) string { return strconv.FormatInt(id, 10) }

// ID is the id of their menu in a list of forms.
func (s *shortcuts) ID() string { return fmt.Sprintf("more-%d-%s", s.Form.PageID, s.Form.ID) }

// Pages that have shortcuts.
const (
	onHome    = "home"
	onForm    = "form"
	onResults = "results"
)

// backTo is the path of the page that had a shortcut.
func (c *call) backTo(form *forms.Form, back string) string {
	switch back {
	case onHome:
		return c.path("/")
	case onResults:
		return c.formPath(form) + "/results"
	default:
		return c.formPath(form)
	}
}

// shortcut does what a button of shortcuts says.
func (c *call) shortcut() error {
	c.Log.SetUser(c.Who.Name)
	if err := c.HoldAuthor(); err != nil {
		return err
	}
	sent, err := c.readForm(maxForm, errUnreadable)
	if err != nil {
		return err
	}
	if err := c.checkWrite(sent); err != nil {
		return err
	}
	pageID, _ := request.ParseID(sent.Get(pageControl)) // no page has the id 0
	formID := sent.Get(formControl)
	if sent.Get(doControl) == doRestore {
		removed := service.Removed{
			PageID: pageID, FormID: formID, Before: sent.Get(beforeControl), After: sent.Get(afterControl),
		}
		if err := c.Backend.Service.Undo(c.Context(), c.Who, removed); err != nil {
			return unchanged(err)
		}
		form := &forms.Form{PageID: pageID, ID: formID}
		return c.goTo(c.formPath(form), done{Text: c.Lang.Text("The form is back.")})
	}
	access, err := c.Backend.Service.Form(c.Context(), c.Who, pageID, formID)
	if err != nil {
		return err
	}
	done, err := c.setEnd(access.Form, sent)
	if _, changed := errors.AsType[*service.Conflict](err); changed {
		err = request.NewStatusError(http.StatusConflict,
			forms.Say("The form was changed since the page was opened. "+
				"Nothing was changed now: go back, and load the page again."))
	}
	if err != nil {
		return unchanged(err)
	}
	return c.goTo(c.backTo(access.Form, sent.Get(backControl)), done)
}

// unchanged gives the refusal of a page a status.
func unchanged(err error) error {
	if invalid, ok := errors.AsType[*forms.Invalid](err); ok {
		return request.NewStatusError(http.StatusConflict, forms.Join(otherErrors(invalid, nil)))
	}
	return err
}

// setEnd closes a form now, or opens it again.
func (c *call) setEnd(form *forms.Form, sent url.Values) (d done, err error) {
	planned := c.plannedEnd(form)
	block, err := c.Backend.Service.Block(c.Context(), c.Who, form.PageID, form.ID)
	if err != nil {
		return d, err
	}
	tree, err := markup.ReadTree(block.Text)
	if err != nil {
		return d, fmt.Errorf("read a form: %w", err)
	}
	end, isPlanned := tree.Get(markup.Path{"closes"})
	now := c.Backend.Service.Now()
	change := markup.Change{Do: markup.Set, Path: markup.Path{"closes"}}
	switch sent.Get(doControl) {
	case doClose:
		d.Text = c.Lang.Text("The form is closed now.")
		change.Value.Text = now.Format(time.RFC3339)
	case doReopen:
		d.Text, change.Do = c.Lang.Text("The form is open again."), markup.Delete
	case doUndo:
		d.Text, change.Value.Text = c.Lang.Text("The form closes as it was planned."), sent.Get(closesControl)
	default:
		return d, errUnreadable
	}
	text, _, err := markup.Edit(block.Text, change)
	if err != nil {
		return d, request.NewStatusError(http.StatusUnprocessableEntity,
			forms.Say("This can't be changed here. Change it in the text."))
	}
	if err := block.Save(c.Context(), sent.Get(tagControl), text); err != nil {
		return d, err
	}
	if isPlanned && sent.Get(doControl) == doClose {
		d.Text = c.Lang.Text("The form is closed now. It was to close on {0}.", planned)
		d.Undo = url.Values{doControl: {doUndo}, closesControl: {end.Text}, tagControl: {markup.Tag(text)}}
		for _, name := range []string{pageControl, formControl, backControl} {
			d.Undo[name] = slices.Clone(sent[name])
		}
	}
	return d, nil
}

// plannedEnd is when a form closes.
func (c *call) plannedEnd(form *forms.Form) any {
	if form.Closes.Day != "" {
		return forms.Plain(form.Closes.Day)
	}
	return form.Closes.Time.In(c.Backend.Service.Zone())
}
