package web

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// Controls of shortcuts. doControl is "close", "reopen", "undo" with closesControl, or "restore" of a removed form.
const (
	pageControl   = "_page"
	formControl   = "_form"
	backControl   = "_back" // path of the page that has the shortcut
	closesControl = "_closes"
	beforeControl = "_before" // see service.Removed, with afterControl
)

// shortcuts are what an editor does with a form from where they see it.
type shortcuts struct {
	*service.Access
	Edit    string // path of its text
	Address string // of the form, with the server

	// For authors who may save there.
	Tag     string // of its text; "" for others
	Closes  bool   // it is open
	Reopens bool   // it is closed
	For     string // see forControl
	Back    string // see backControl
}

// shortcuts returns nil in a frame, and unless the caller may edit the form's page.
func (c *call) shortcuts(access *service.Access) *shortcuts {
	if c.Framed || !access.Rights.Edit {
		return nil
	}
	form := access.Form
	s := &shortcuts{Access: access, Edit: c.authorPath(form.PageID, form.ID), Address: c.address(form)}
	if c.Backend.Service.MayAuthor(c.Who) != nil {
		return s
	}
	block, err := c.Backend.Service.Block(c.Context(), c.Who, form.PageID, form.ID)
	if err != nil || block.MaySave() != nil { // it may have just gone
		return s
	}
	s.Tag, s.For, s.Back = block.Tag(), c.hashUser(), c.URL.EscapedPath()
	s.Closes = service.Window(form, access.Now()).Reason == nil
	s.Reopens = form.IsOver(access.Now(), access.Now().Location())
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

// shortcut does what a button of shortcuts says.
func (c *call) shortcut() error {
	sent, err := c.readAuthor()
	if err == nil {
		err = c.checkSite()
	}
	if err != nil {
		return err
	}
	pageID, _ := request.ParseID(sent.Get(pageControl)) // no page has the id 0
	formID, d := sent.Get(formControl), done{Text: c.Lang.Text("The form is back.")}
	if sent.Get(doControl) == "restore" {
		err = c.Backend.Service.Undo(c.Context(), c.Who, service.Removed{
			PageID: pageID, FormID: formID, Before: sent.Get(beforeControl), After: sent.Get(afterControl),
		})
	} else {
		d, err = c.setEnd(pageID, formID, sent)
	}
	if err != nil {
		return err
	}
	return c.goTo(localPath(sent.Get(backControl), c.frame), d)
}

// setEnd closes a form now, or opens it again.
func (c *call) setEnd(pageID int64, formID string, sent url.Values) (d done, err error) {
	access, err := c.Backend.Service.Form(c.Context(), c.Who, pageID, formID)
	if err != nil {
		return d, err
	}
	block, err := c.Backend.Service.Block(c.Context(), c.Who, pageID, formID)
	if err != nil {
		return d, err
	}
	change := markup.Change{Do: markup.Set, Path: markup.Path{"closes"}}
	tree, _ := markup.ReadTree(block.Text) // else Edit fails
	end, isPlanned := tree.Get(change.Path)
	switch sent.Get(doControl) {
	case "close":
		d.Text = c.Lang.Text("The form is closed now.")
		change.Value.Text = access.Now().Format(time.RFC3339)
	case "reopen":
		d.Text, change.Do = c.Lang.Text("The form is open again. It has no planned end now."), markup.Delete
	case "undo":
		d.Text, change.Value.Text = c.Lang.Text("The form closes as it was planned."), sent.Get(closesControl)
	default:
		return d, errUnreadable
	}
	text, _, err := markup.Edit(block.Text, change)
	if err != nil {
		return d, request.NewStatusError(http.StatusUnprocessableEntity,
			forms.Say("This can't be changed here. Change it in the text."))
	}
	if isPlanned && sent.Get(doControl) == "close" {
		var planned any = access.Form.Closes.Time.In(access.Now().Location())
		if access.Form.Closes.Day != "" {
			planned = forms.Plain(end.Text)
		}
		d.Text = c.Lang.Text("The form is closed now. It was to close on {0}.", planned)
		d.Undo = url.Values{
			doControl: {"undo"}, closesControl: {end.Text}, tagControl: {markup.Tag(text)},
			pageControl: sent[pageControl], formControl: sent[formControl], backControl: sent[backControl],
		}
	}
	return d, block.Save(c.Context(), sent.Get(tagControl), text)
}
