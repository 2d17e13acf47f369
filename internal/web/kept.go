package web

import (
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// Names of the controls that are no answers. Ids of fields never begin with "_".
const (
	keyControl      = "_key"      // of the create
	tagControl      = "_tag"      // of the submission that is changed
	forControl      = "_for"      // who the page was made for
	updateControl   = "_update"   // the button "Update questions"
	removeControl   = "_remove"   // ids of fields whose files are to go
	shownControl    = "_shown"    // ids of fields with checkboxes that were shown
	nameControl     = "_username" // of a sign-in that keeps a form
	passwordControl = "_password"
)

// maxKept bounds the values of a form that is kept over a sign-in. A form has
// at most 1000 fields with 1000 options each, but nobody ticks that many.
const maxKept = 4000

// keptValue is a value of a form that was sent without a session.
type keptValue struct{ Name, Value string }

// NameControl and PasswordControl are the names of the controls of the page. With a form that is kept,
// they differ from the ids of its fields.
func (p *signInPage) NameControl() string {
	if p.Kept != nil {
		return nameControl
	}
	return "username"
}

// PasswordControl is like NameControl.
func (p *signInPage) PasswordControl() string {
	if p.Kept != nil {
		return passwordControl
	}
	return "password"
}

// askToSignIn answers somebody who is not signed in. What they have sent comes
// back with the sign-in, and returns to its form afterwards.
func (s *Site) askToSignIn(w http.ResponseWriter, r *http.Request, f frame, resume resumer) error {
	if r.Method != http.MethodPost {
		redirect(w, r, f.path("/login")+"?next="+url.QueryEscape(r.URL.RequestURI()))
		return nil
	}
	if err := request.CheckOrigin(r); err != nil {
		return err
	}
	c := &call{Call: s.Backend.NewCall(w, r, auth.Identity{}), site: s, frame: f}
	defer c.End()
	kept, err := c.readKept(w)
	if err != nil {
		return err
	}
	page := &signInPage{
		Layout: s.layout(f, "", "Sign in"), Action: r.URL.EscapedPath(), Name: kept.Get(nameControl),
		Notice: "You are not signed in any more. Sign in, and what you have typed is there again. Nothing was sent yet.",
	}
	page.lead(r)
	password, tried := kept.Get(passwordControl), kept.Has(passwordControl)
	for _, name := range []string{nameControl, passwordControl, updateControl} {
		kept.Del(name)
	}
	page.Kept = []keptValue{}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		for _, value := range kept[name] {
			page.Kept = append(page.Kept, keptValue{name, value})
		}
	}
	if !tried {
		return s.render(w, r, http.StatusForbidden, "login", page)
	}
	who, err := s.signIn(w, r, f, page.Name, password)
	if err != nil {
		c.Log.SetUser("") // as with any failed login: the address, and no name
		return s.refuseSignIn(w, r, page, err)
	}
	c.Who = who
	if resume == nil || kept.Get(forControl) != s.hashUser(who.Name) {
		redirect(w, r, r.URL.EscapedPath())
		return nil
	}
	return resume(s, w, c, kept)
}

var errUnreadable = &request.StatusError{Status: http.StatusBadRequest, Detail: "The form can't be read. Open the page again, and try once more."}

var errTooMuchKept = &request.StatusError{
	Status: http.StatusRequestEntityTooLarge,
	Detail: "You are not signed in any more, and what was sent is too much to keep. Go back, copy what you have typed, and sign in again.",
}

var errSignedOut = &request.StatusError{
	Status: http.StatusForbidden,
	Detail: "You are not signed in any more, and nothing was changed. Go back, copy what you have typed, and sign in again.",
}

// readKept reads the texts of a form. Files are passed over: nobody who is not
// signed in can store any, and a browser can't be given them back. Together they
// may have as much as an upload of somebody who is signed in: most browsers
// read no answer before they have sent everything.
func (c *call) readKept(w http.ResponseWriter) (url.Values, error) {
	if c.ContentLength < 0 || c.ContentLength > request.LargeBody { // all who are not signed in share the slots of one user
		if err := c.HoldBody(); err != nil {
			return nil, err
		}
	}
	maxText, maxFile := c.site.Backend.MaxBody, c.site.Backend.Service.MaxFile()
	c.Body = http.MaxBytesReader(w, c.Body, maxText+service.MaxFiles*maxFile)
	values, err := readTexts(c.Request, maxText)
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return values, nil
	case errors.As(err, &tooLarge):
		return nil, errTooMuchKept
	case errors.Is(err, errTooMuchKept):
		_, _ = io.CopyN(io.Discard, c.Body, maxFile) // for the browser to read the answer
		return nil, err
	default:
		return nil, errUnreadable
	}
}

func readTexts(r *http.Request, maxText int64) (url.Values, error) {
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if mediaType != "multipart/form-data" {
		text, err := readAtMost(r.Body, maxText)
		if err != nil {
			return nil, err
		}
		if strings.Count(text, "&") >= maxKept {
			return nil, errTooMuchKept
		}
		return url.ParseQuery(text)
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, err
	}
	values := url.Values{}
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return values, nil
		case err != nil:
			return nil, err
		case n == maxKept:
			return nil, errTooMuchKept
		case part.FileName() != "" || part.FormName() == "":
			continue
		}
		text, err := readAtMost(part, maxText)
		if err != nil {
			return nil, err
		}
		if maxText -= int64(len(text) + len(part.FormName())); maxText < 0 {
			return nil, errTooMuchKept
		}
		values.Add(part.FormName(), text)
	}
}

func readAtMost(r io.Reader, limit int64) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = errTooMuchKept
	}
	return string(text), err
}
