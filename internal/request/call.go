package request

import (
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/text/language"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/limit"
	"github.com/formulary/formulary/internal/service"
)

// Call is one request, and who sent it.
type Call struct {
	*http.Request
	Who     auth.Identity
	Backend *Backend
	Log     Reporter // notes for the access log
	// Refresh returns the caller as they are now, or an error if they are no longer
	// signed in; nil asks the Backend's Auth.
	Refresh   func() (auth.Identity, error)
	slot      *limit.Limiter      // that it holds a slot of, or nil
	release   func()              // of that slot, or nil
	reads     string              // see SetReads
	preferred []language.Tag      // see Translated; nil until they are needed
	unread    http.ResponseWriter // if the body was refused before its end, or nil
	anonymous bool                // the form was anonymous when it was opened, at least once
}

// Form opens the form that the path names. Only now may the caller be named in
// the log, and only if the form is not anonymous. A page may change while a
// request is under way: if the form was anonymous at any time, it stays so
// until the request ends.
func (c *Call) Form() (*service.Access, error) {
	pageID, err := PathID(c.Request, "pageId")
	if err != nil {
		return nil, err
	}
	access, err := c.Backend.Service.Form(c.Context(), c.Who, pageID, c.PathValue("formId"))
	if err != nil {
		return nil, err
	}
	access.Form = c.Translated(access.Form)
	c.anonymous = c.anonymous || access.Form.Anonymous
	if c.anonymous {
		access.Anonymize()
		c.Log.Anonymous()
	} else {
		c.Log.SetUser(c.Who.Name)
	}
	return access, nil
}

// Reopen opens the form again after something that may have taken a while: a
// body that came in, or a part of a list that was sent. The current users,
// groups and page decide.
func (c *Call) Reopen() (*service.Access, error) {
	who, err := c.refresh()
	if err != nil {
		if !c.anonymous {
			c.Log.SetUser("") // as with any failed login: the address, and no name
		}
		return nil, err
	}
	c.Who = who
	return c.Form()
}

func (c *Call) refresh() (auth.Identity, error) {
	if c.Refresh != nil {
		return c.Refresh()
	}
	return c.Backend.Auth.Refresh(c.Who)
}

// Receive reads the answers in the body with read, and opens the form again,
// because a body may take long to arrive. It returns nil for the form only if
// that can't be opened any more. With an error, no file of the answers is staged.
func (c *Call) Receive(
	before *service.Access, read func(*service.Access) ([]forms.Answer, error),
) (access *service.Access, answers []forms.Answer, err error) {
	answers, bad := read(before)
	access, err = c.Reopen()
	if err != nil {
		before.DropFiles(service.StagedFiles(answers))
		return nil, nil, err
	}
	return access, access.Form.CurrentAnswers(answers), bad
}

// Submission opens the form that the path names, and reads the id of the
// submission there.
func (c *Call) Submission() (access *service.Access, id int64, err error) {
	if access, err = c.Form(); err != nil {
		return nil, 0, err
	}
	id, err = PathID(c.Request, "id")
	return access, id, err
}

// Stored reads the submission that the path names.
func (c *Call) Stored() (access *service.Access, sub forms.Submission, err error) {
	access, id, err := c.Submission()
	if err == nil {
		sub, err = access.Get(c.Context(), id)
	}
	return access, sub, err
}

// MayStillList returns an error if the caller may no longer read the list that
// is being sent. A slow reader must not get what was submitted after their
// access was taken away. It is called as long as something is read, also if
// there is nothing to send for a while: the client is not to blame for that.
func (c *Call) MayStillList(access *service.Access) error {
	c.Log.Working()
	now, err := c.Reopen()
	if err != nil {
		return fmt.Errorf("open the form again: %w", err)
	}
	if !now.Covers(access) {
		return service.NewError(service.Unavailable, forms.Say("Who may see this list has just changed. Ask again."))
	}
	return nil
}

// NoteRefusal has the access log name the address and not the user if err
// refuses a caller who is beyond a limit: the address tells who to look for, as
// with failed logins.
func (c *Call) NoteRefusal(err error) {
	refused, ok := errors.AsType[*StatusError](err)
	if ok && refused.Status == http.StatusTooManyRequests && !c.anonymous {
		c.Log.SetUser("")
	}
}

// LogError logs what went wrong under the request id that the access log has.
func (c *Call) LogError(message string, err error) {
	c.Backend.Logger.Error(message, "route", c.Pattern, "request_id", c.Log.RequestID(), "error", err)
}

// Reporter takes notes about a request for the access log, and is told that a
// handler is at work. The server's response writer is one.
type Reporter interface {
	SetUser(name string)
	Anonymous()
	RequestID() string
	Working()
}

// ReporterOf returns the reporter of a request from its response writer, which
// other response writers may wrap.
func ReporterOf(w http.ResponseWriter) Reporter {
	for {
		if r, ok := w.(Reporter); ok {
			return r
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return noReporter{}
		}
		w = u.Unwrap()
	}
}

// noReporter is for requests that did not come through the server.
type noReporter struct{}

func (noReporter) SetUser(string)    {}
func (noReporter) Anonymous()        {}
func (noReporter) RequestID() string { return "" }
func (noReporter) Working()          {}
