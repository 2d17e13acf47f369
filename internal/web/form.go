package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// formPage is a form to fill in.
type formPage struct {
	Layout
	Crumbs
	Form      *formView
	Anonymous bool
	Once      bool
	Submitted bool // an anonymous form that takes one submission has it
	Notice    string
}

// Crumbs are the links above a page that belongs to a form.
type Crumbs struct {
	Framed    bool
	PageTitle string
	PagePath  string
	FormID    string
	FormPath  string
	Results   string // path; "" if the caller can see no results
	Mine      bool   // the results are the caller's own
}

func (c *call) crumbs(access *service.Access) Crumbs {
	p := c.formPath(access.Form)
	return Crumbs{
		Framed: c.framed, PageTitle: access.PageTitle, PagePath: "/page/" + strconv.FormatInt(access.Form.PageID, 10),
		FormID: access.Form.ID, FormPath: c.path(p), Results: resultsPath(access.Form, access.MaySeeAll(), p), Mine: !access.MaySeeAll(),
	}
}

// formPath is the path of a form's own page.
func (c *call) formPath(f *forms.Form) string {
	return "/page/" + strconv.FormatInt(f.PageID, 10) + "/form/" + url.PathEscape(f.ID)
}

// resultsPath is "" where the caller could see no submission at all.
func resultsPath(f *forms.Form, seesAll bool, formPath string) string {
	if f.Anonymous && !seesAll {
		return ""
	}
	return formPath + "/results"
}

func (s *Site) showForm(w http.ResponseWriter, c *call) error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	if access.Form.OneSubmission {
		mine, found, err := access.Mine(c.Context())
		if err != nil {
			return err
		}
		if found {
			redirect(w, c.Request, c.submissionPath(access.Form, mine))
			return nil
		}
	}
	page, err := s.newFormPage(c, access, filling{})
	if err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "form", page)
}

func (s *Site) newFormPage(c *call, access *service.Access, with filling) (*formPage, error) {
	view, err := s.createForm(c, access, "f0", with)
	if err != nil {
		return nil, err
	}
	page := &formPage{
		Layout: c.layout(access.PageTitle), Crumbs: c.crumbs(access), Form: view,
		Anonymous: access.Form.Anonymous, Once: access.Form.OneSubmission,
	}
	page.Script = "form.js"
	if page.Anonymous && page.Once {
		page.Submitted, err = access.Submitted(c.Context())
	}
	return page, err
}

// createForm is the view of a form that makes a new submission.
func (s *Site) createForm(c *call, access *service.Access, id string, with filling) (*formView, error) {
	v, err := c.formView(id, access.Form, with)
	if err != nil {
		return nil, err
	}
	v.Action, v.Submit, v.Framed = c.path(c.formPath(access.Form)), "Send", c.framed
	v.Key, v.For = rand.Text(), s.hashUser(c.Who.Name)
	return v, nil
}

// hashUser names a user in the pages that were made for them. A page that one
// user has filled in must not be sent in the name of another.
func (s *Site) hashUser(name string) string {
	mac := hmac.New(sha256.New, s.Key)
	mac.Write([]byte("page for " + name))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}

// sendForm takes what was filled in: a new submission, or with the button
// "Update questions" nothing but another look at the form.
func (s *Site) sendForm(w http.ResponseWriter, c *call) error {
	before, err := c.Form()
	if err != nil {
		return err
	}
	sent, access, err := s.receive(w, c, before)
	if err != nil {
		return err
	}
	if sent.extra.Has(updateControl) {
		return s.refill(w, c, access, sent, nil)
	}
	sub, _, err := access.Create(c.Context(), withoutEmpty(sent.answers), sent.createKey(access))
	var invalid *forms.Invalid
	if errors.As(err, &invalid) {
		return s.refill(w, c, access, sent, invalid)
	}
	if err != nil {
		return err
	}
	redirect(w, c.Request, c.sentPath(access, sub.ID))
	return nil
}

var errOtherUser = &request.StatusError{
	Status: http.StatusConflict,
	Detail: "Somebody else has signed in with this browser since the page was opened. Nothing was sent. Open the form again.",
}

// sentPath is where somebody sees what they have sent. They can't where it is
// stored without their name.
func (c *call) sentPath(access *service.Access, id int64) string {
	if access.Form.Anonymous && !access.MaySeeAll() {
		return c.path(c.formPath(access.Form)) + "/sent"
	}
	return c.submissionPath(access.Form, id) + "?sent"
}

// received is a form as it came in.
type received struct {
	answers []forms.Answer
	extra   url.Values // own controls
}

// answered are the ids of the fields that the page has sent an answer to. If no
// box of a question is ticked, a browser sends nothing for it: a page that
// changes a submission names those questions that it showed.
func (r received) answered() map[string]bool {
	ids := setOf(r.extra[shownControl])
	for i := range r.answers {
		ids[r.answers[i].FieldID] = true
	}
	return ids
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// receive reads a form that the caller has filled in, and opens it again: it may
// have taken long to arrive. The files of its answers are staged, unless it is
// only to be shown again.
func (s *Site) receive(w http.ResponseWriter, c *call, before *service.Access) (received, *service.Access, error) {
	sent := received{extra: url.Values{}}
	access, answers, err := c.Receive(before, func(access *service.Access) ([]forms.Answer, error) {
		return request.DecodeMultipart(w, c.Call, access, sent.extra)
	})
	var invalid *forms.Invalid
	if errors.As(err, &invalid) { // not what browsers send
		err = errUnreadable
	}
	for i := range answers {
		normalize(&answers[i])
	}
	sent.answers = answers
	if err == nil && sent.extra.Get(forControl) != s.hashUser(c.Who.Name) {
		err = errOtherUser
	}
	if err != nil || sent.extra.Has(updateControl) {
		before.DropFiles(c.Context(), service.StagedFiles(sent.answers))
	}
	return sent, access, err
}

// normalize has line ends stored as LF: browsers send those of a textarea as
// CR LF.
func normalize(a *forms.Answer) {
	a.Value = lineFeeds(a.Value)
	for i := range a.List {
		a.List[i] = lineFeeds(a.List[i])
	}
}

func lineFeeds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// createKey is the idempotency key of what was sent, "" without one.
func (r received) createKey(access *service.Access) string {
	key := r.extra.Get(keyControl)
	if key == "" || len(key) > 64 {
		return ""
	}
	return access.KeyOfAnswers(key, r.answers)
}

// withoutEmpty leaves out questions without an answer, which browsers send as
// empty texts.
func withoutEmpty(answers []forms.Answer) []forms.Answer {
	return slices.DeleteFunc(slices.Clone(answers), func(a forms.Answer) bool {
		return a.Value == "" && !a.IsList && a.Problem == "" && a.Misfit == ""
	})
}

// fill is a form with what was sent for it.
func fill(f *forms.Form, answers []forms.Answer, invalid *forms.Invalid) filling {
	with := filling{values: make([]string, len(f.Fields)), errors: invalid, lost: map[string]string{}}
	byID := answersByID(answers)
	for rank := range f.Fields {
		id := f.Fields[rank].ID
		a := byID[id]
		if a == nil {
			continue
		}
		value := a.Value
		if a.IsList {
			value = strings.Join(a.List, forms.Separator)
		}
		if f.Fields[rank].Type == forms.File {
			with.lost[id] = value
		} else {
			with.values[rank] = value
		}
	}
	return with
}

func answersByID(answers []forms.Answer) map[string]*forms.Answer {
	byID := make(map[string]*forms.Answer, len(answers))
	for i := range answers {
		byID[answers[i].FieldID] = &answers[i]
	}
	return byID
}

// refill shows the form again as it was sent, with what is wrong.
func (s *Site) refill(w http.ResponseWriter, c *call, access *service.Access, sent received, invalid *forms.Invalid) error {
	page, err := s.newFormPage(c, access, fill(access.Form, sent.answers, invalid))
	if err != nil {
		return err
	}
	if key := sent.extra.Get(keyControl); key != "" {
		page.Form.Key = key
	}
	status := http.StatusOK
	if invalid != nil {
		status, page.Title = http.StatusUnprocessableEntity, "Error: "+page.Title
		page.Submitted = false // it would hide what is wrong, and what was typed
	}
	return c.render(w, status, "form", page)
}

// resumeForm shows a form as it was before its user had to sign in again.
func (s *Site) resumeForm(w http.ResponseWriter, c *call, typed url.Values) error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	page, err := s.newFormPage(c, access, fill(access.Form, typedAnswers(access.Form, typed), nil))
	if err != nil {
		return err
	}
	page.Form.Key = typed.Get(keyControl)
	page.Notice = resumedNotice
	return c.render(w, http.StatusOK, "form", page)
}

const resumedNotice = "You are signed in again, and the form is as you left it. Nothing was sent yet."

func typedAnswers(f *forms.Form, typed url.Values) []forms.Answer {
	var answers []forms.Answer
	for rank := range f.Fields {
		if values, sent := typed[f.Fields[rank].ID]; sent {
			a := forms.Answer{FieldID: f.Fields[rank].ID, List: values, IsList: true}
			normalize(&a)
			answers = append(answers, a)
		}
	}
	return answers
}

// sentPage says that an anonymous submission is stored.
type sentPage struct {
	Layout
	Crumbs
	Once bool
}

func (s *Site) sent(w http.ResponseWriter, c *call) error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	if !access.Form.Anonymous {
		redirect(w, c.Request, c.path(c.formPath(access.Form)))
		return nil
	}
	return c.render(w, http.StatusOK, "sent", &sentPage{
		Layout: c.formLayout("Sent", access), Crumbs: c.crumbs(access), Once: access.Form.OneSubmission,
	})
}
