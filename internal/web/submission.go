package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// submissionPage is one submission to read.
type submissionPage struct {
	Layout
	Crumbs
	Number    string
	Created   time.Time // its day, if the form is anonymous
	Username  string
	Changed   *changeView // nil if it never was
	Sent      bool        // it was sent just now
	Saved     bool        // or changed
	Thanks    []textPart
	Answers   []answerView
	Change    string // path; "" if the caller may not
	Delete    string
	Again     string // path of the empty form; "" if there is no more to send
	Anonymous bool
	Back      string // path of the submission before in the list that it was opened from; "" if there is none
	Next      string // path of the one after
}

// answerView is the answer to one question.
type answerView struct {
	Label   string
	Value   string
	List    []string // of several values
	Files   []fileLink
	Lozenge bool
	Tone    int
	Set     *setView // nil unless the caller sets it with one press
}

// submissionPath is the path of one submission.
func (c *call) submissionPath(f *forms.Form, id int64) string {
	return c.formPath(f) + "/submission/" + strconv.FormatInt(id, 10)
}

// stored is a submission that the caller may read.
type stored struct {
	access  *service.Access
	sub     forms.Submission
	entries []forms.Entry
	values  map[string]string // of the entries, by field id
	path    string
	list    *resultsView // that it was opened from
	forUser string       // see hashUser
}

func (c *call) stored() (stored, error) {
	access, id, err := c.Submission()
	if err != nil {
		return stored{}, err
	}
	sub, err := access.Get(c.Context(), id)
	if err != nil {
		return stored{}, err
	}
	if err := c.HoldAnswer(len(sub.Entries)); err != nil {
		return stored{}, err
	}
	entries, err := sub.Entries.Decode()
	values := make(map[string]string, len(entries))
	for _, e := range entries {
		values[e.FieldID] = e.Value
	}
	return stored{access, sub, entries, values, c.submissionPath(access.Form, id), c.openedFrom(access.Form), c.site.hashUser(c.Who.Name)}, err
}

// number is that of the submission as headings have it, with a space before. An
// anonymous one has none: ids are in the order of time, over all forms.
func (st stored) number() string {
	if st.access.Form.Anonymous {
		return ""
	}
	return " " + strconv.FormatInt(st.sub.ID, 10)
}

// changeable is a submission that the caller may change.
func (c *call) changeable() (stored, error) {
	st, err := c.stored()
	if err == nil {
		err = st.access.MayChange(st.sub)
	}
	return st, err
}

// filling is what the submission holds.
func (st stored) filling() filling {
	with := filling{values: make([]string, len(st.access.Form.Fields)), files: st.files(), change: true}
	for rank := range st.access.Form.Fields {
		with.values[rank] = st.values[st.access.Form.Fields[rank].ID]
	}
	return with
}

// files are the files of the submission by field.
func (st stored) files() map[string][]fileLink {
	links := map[string][]fileLink{}
	for _, f := range st.sub.Files {
		links[f.FieldID] = append(links[f.FieldID], fileLink{
			Name: f.Name, Size: forms.SizeText(f.Size),
			Path: st.path + "/file/" + url.PathEscape(f.FieldID) + "/" + url.PathEscape(f.Name),
		})
	}
	return links
}

// answers are those to the questions that show, and then what is stored for
// fields that have left the page.
func (st stored) answers() []answerView {
	f, with := st.access.Form, st.filling()
	shown := f.Visible(with.values)
	var views []answerView
	for rank := range f.Fields {
		field, value := &f.Fields[rank], with.values[rank]
		forOthers := field.ByEditors && !st.access.Rights.Edit // it is not theirs to answer
		if value != "" || shown[rank] && !forOthers {
			views = append(views, newAnswer(field, value, with.files[field.ID]))
			views[len(views)-1].Set = st.setOf(field, value, shown[rank])
		}
	}
	fields := f.Index()
	for _, e := range st.entries {
		if !fields.HasColumn(e.FieldID) {
			views = append(views, answerView{Label: e.FieldID, Value: e.Value, Files: with.files[e.FieldID]})
		}
	}
	return views
}

func newAnswer(f *forms.Field, value string, files []fileLink) answerView {
	v := answerView{Label: f.Label, Value: value, Files: files}
	if value == "" {
		return v
	}
	switch {
	case f.MultiValue() && strings.Count(value, forms.Separator) < max(len(f.Options), maxCellValues): // more of them are one text
		v.List = strings.Split(value, forms.Separator)
	case f.Type == forms.Status:
		v.Lozenge, v.Tone = true, toneOf(f, value)
	}
	return v
}

// setView is the buttons that set an answer which editors give, each with one press.
// They send a change of that answer alone.
type setView struct {
	FieldID, Action, Tag, For string
	Status                    bool
	Options                   []choice
}

// maxSetOptions is how many buttons an answer has at most. With more options, it is
// changed like all others.
const maxSetOptions = 20

// setOf returns nil for what the caller does not set with one press.
func (st stored) setOf(field *forms.Field, value string, shown bool) *setView {
	options := len(field.Options)
	if !field.ByEditors || !st.access.Rights.Edit || !shown || field.MultiValue() || options == 0 || options > maxSetOptions {
		return nil
	}
	view := &setView{
		FieldID: field.ID, Action: st.at("/change"), Tag: st.access.Tag(st.sub), For: st.forUser, Status: field.Type == forms.Status,
	}
	for _, o := range field.Options {
		view.Options = append(view.Options, choice{Value: o, Chosen: o == value, Tone: toneOf(field, o)})
	}
	return view
}

func (s *Site) showSubmission(w http.ResponseWriter, c *call) error {
	st, err := c.stored()
	if err != nil {
		return err
	}
	query := c.URL.Query()
	title := "Submission" + st.number()
	if query.Has("sent") {
		title = "Sent"
	}
	form, zone := st.access.Form, s.Backend.Service.Zone()
	page := &submissionPage{
		Layout: c.formLayout(title, st.access), Crumbs: c.crumbsOf(st), Number: st.number(),
		Created: shownTime(form, st.sub.Created, zone), Username: st.sub.Username, Changed: newChange(form, st.sub, zone),
		Sent: query.Has("sent"), Saved: query.Has("saved"), Answers: st.answers(), Anonymous: form.Anonymous,
	}
	if page.Sent {
		page.Thanks = linkText(form.Thanks)
	}
	if st.access.MayChange(st.sub) == nil && st.access.MayUpdate() == nil {
		page.Change = st.at("/change")
	}
	if st.access.Rights.Edit && !c.framed {
		page.Delete = st.at("/delete")
	}
	if !form.OneSubmission {
		page.Again = c.formPath(form)
	}
	if err := c.setNeighbours(page, st); err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "submission", page)
}

// changePage is a submission to change.
type changePage struct {
	Layout
	Crumbs
	Number string
	Form   *formView
	Notice string
	Theirs []difference // what is stored now, after a conflict
}

// difference is a question whose stored answer is not that in the form.
type difference struct{ Label, Theirs, Yours string }

func (s *Site) newChangePage(c *call, st stored, with filling) (*changePage, error) {
	with.access = st.access
	view, err := c.formView("f0", st.access.Form, with)
	if err != nil {
		return nil, err
	}
	page := &changePage{
		Layout: c.formLayout("Change submission"+st.number(), st.access), Crumbs: c.crumbsOf(st), Number: st.number(), Form: view,
	}
	page.Script = "form.js"
	page.Form.Action, page.Form.Submit, page.Form.Cancel = st.at("/change"), "Save", st.at("")
	page.Form.Hidden = url.Values{tagControl: {st.access.Tag(st.sub)}, forControl: {st.forUser}, labelsControl: {labelsOf(st.access)}}
	page.Form.Draft, page.Form.Typed = s.draftName(c, st.access, c.unframedPath(st.path)), with.typed
	return page, nil
}

func (s *Site) changeSubmission(w http.ResponseWriter, c *call) error {
	st, err := c.changeable()
	if err != nil {
		return err
	}
	if closed, ok := errors.AsType[*forms.Invalid](st.access.MayUpdate()); ok {
		return &service.Error{Kind: service.Forbidden, Detail: upperFirst(closed.Errors[0]) + "."}
	}
	page, err := s.newChangePage(c, st, st.filling())
	if err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "change", page)
}

// errChanged: the submission or its form is not in the state that the page shows.
var errChanged = errors.New("changed meanwhile")

// wantTag is the precondition that the submission is in the state that the page shows.
func wantTag(sent url.Values) func(tag string) error {
	return func(tag string) error {
		if tag != sent.Get(tagControl) {
			return errChanged
		}
		return nil
	}
}

func (s *Site) saveSubmission(w http.ResponseWriter, c *call) error {
	before, err := c.changeable() // don't take files for a change that is not allowed
	access := before.access
	if isKind(err, service.NotFound) {
		access, err = c.Form()
	}
	if err != nil {
		return err
	}
	sent, access, err := s.receive(w, c, access)
	switch {
	case err != nil:
		return err
	case before.access == nil:
		access.DropFiles(c.Context(), service.StagedFiles(sent.answers))
		return s.showDeleted(w, c, access, sent)
	case sent.extra.Has(updateControl):
		return s.showChangeAgain(w, c, sent, refusal{status: http.StatusOK})
	}
	return s.merge(w, c, access, before, sent)
}

func isKind(err error, kind service.Kind) bool {
	var known *service.Error
	return errors.As(err, &known) && known.Kind == kind
}

// showDeleted shows a change of a submission that is not there any more as a form
// to send, so that what was typed is not lost.
func (s *Site) showDeleted(w http.ResponseWriter, c *call, access *service.Access, sent received) error {
	return s.showAgain(w, c, access, sent, refusal{
		status: http.StatusNotFound,
		reason: "The submission was deleted since you opened it. Nothing was saved. “Send” makes a new submission, in your name, of what you see here.",
	})
}

func (s *Site) merge(w http.ResponseWriter, c *call, access *service.Access, before stored, sent received) error {
	_, err := access.Merge(c.Context(), before.sub.ID, before.changes(sent), wantTag(sent.extra), c.HoldAnswer)
	var invalid *forms.Invalid
	switch {
	case errors.As(err, &invalid):
		return s.showChangeAgain(w, c, sent, refusal{status: http.StatusUnprocessableEntity, invalid: invalid})
	case errors.Is(err, errChanged):
		return s.showChangeAgain(w, c, sent, refusal{status: http.StatusConflict})
	case isKind(err, service.NotFound):
		return s.showDeleted(w, c, access, sent)
	case err != nil:
		return err
	}
	redirect(w, c.Request, withQuery(before.path, "saved", before.list.listQuery()))
	return nil
}

// changes are the answers that differ from what is stored. What somebody did
// not touch is not checked again: the form may have become stricter since.
func (st stored) changes(sent received) []forms.Answer {
	f := st.access.Form
	answered, removed := sent.answered(), stringSet(sent.extra[removeControl])
	byID, fields := answersByID(sent.answers), f.Index()
	var changes []forms.Answer
	for rank := range f.Fields {
		field := &f.Fields[rank]
		answer := byID[field.ID]
		if answer == nil { // no box is ticked, or no file is chosen
			answer = &forms.Answer{FieldID: field.ID}
		}
		switch {
		case field.Type == forms.File:
			changes = append(changes, st.changedFiles(*answer, removed)...)
		case answered[field.ID] && answer.Text() != tidyValue(field, st.values[field.ID]):
			changes = append(changes, *answer)
		}
	}
	for _, a := range sent.answers {
		if !fields.HasColumn(a.FieldID) {
			changes = append(changes, a)
		}
	}
	return changes
}

// changedFiles is an answer of files as a change: those that were chosen are added to
// the stored ones, without those that are to go. It is nil if that changes nothing.
func (st stored) changedFiles(sent forms.Answer, removed map[string]bool) []forms.Answer {
	names := keptFiles(sent.FieldID, st.values[sent.FieldID], removed)
	if cmp.Or(sent.Value, sent.Misfit, sent.Malformed) == "" && strings.Join(names, forms.Separator) == st.values[sent.FieldID] {
		return nil
	}
	for i := range sent.Files {
		sent.Files[i].Name = forms.UniqueFileName(sent.Files[i].Name, func(n string) bool { return slices.Contains(names, n) })
		names = append(names, sent.Files[i].Name)
	}
	if len(sent.Files) > 0 && len(names) > service.MaxFilesPerField {
		sent.Misfit = service.TooManyFiles
	}
	sent.Value = strings.Join(names, forms.Separator)
	return []forms.Answer{sent}
}

// keptFiles are the names in the value of a file field, without those that are to go.
func keptFiles(fieldID, value string, removed map[string]bool) []string {
	if value == "" {
		return nil
	}
	return slices.DeleteFunc(strings.Split(value, forms.Separator), func(name string) bool {
		return removed[fieldID+"/"+name] // no name has a slash
	})
}

// showChangeAgain shows a submission as somebody wants to change it, and why it was
// not stored. After a conflict it shows both versions, and the next "Save" replaces
// the one that is stored now.
func (s *Site) showChangeAgain(w http.ResponseWriter, c *call, sent received, why refusal) error {
	st, err := c.changeable()
	if isKind(err, service.NotFound) {
		access, err := c.Form()
		if err != nil {
			return err
		}
		return s.showDeleted(w, c, access, sent)
	}
	if err != nil {
		return err
	}
	with := sent.filling(st.access.Form, st.filling(), st.values, why)
	var theirs []difference
	if why.status == http.StatusConflict {
		theirs = st.differences(sent, with)
		with.why.reason = "The submission or its form has changed since you opened it. Nothing of yours is saved yet. "
		if len(theirs) > 0 {
			with.why.reason += "Compare both versions: “Save” replaces what is stored by what is in the form below."
		} else {
			with.why.reason += "The form below shows what is stored now."
		}
	}
	page, err := s.newChangePage(c, st, with)
	if err != nil {
		return err
	}
	page.Theirs, page.Notice = theirs, why.notice
	if why.status != http.StatusOK {
		page.Title = "Error: " + page.Title
	}
	if why.status != http.StatusConflict {
		page.Form.Hidden.Set(tagControl, sent.extra.Get(tagControl))
	}
	return c.render(w, why.status, "change", page)
}

// differences are the questions whose stored answer the next "Save" replaces.
// Those that it does not show are left alone.
func (st stored) differences(sent received, with filling) []difference {
	f, changes, shown := st.access.Form, answersByID(st.changes(sent)), st.access.Form.Visible(with.values)
	var list []difference
	for rank := range f.Fields {
		field := &f.Fields[rank]
		change := changes[field.ID]
		if change == nil || !shown[rank] {
			continue
		}
		yours := with.values[rank]
		if field.Type == forms.File {
			yours = change.Value // with those that were chosen
		}
		list = append(list, difference{field.Label, st.values[field.ID], yours})
	}
	return list
}

// resumeChange shows a change as it was before its user had to sign in again.
func (s *Site) resumeChange(w http.ResponseWriter, c *call, typed url.Values) error {
	return s.showChangeAgain(w, c, newReceived(typed), refusal{status: http.StatusOK, notice: resumedNotice})
}

// maxDeleteAnswer is how much of each answer the question before a delete shows, in bytes.
const maxDeleteAnswer = 2 << 10

// deletePage asks whether a submission is really to go.
type deletePage struct {
	Layout
	Crumbs
	Number  string
	Answers []answerView
	Action  string
	Cancel  string
	Tag     string
	Notice  string
}

func (s *Site) confirmDelete(w http.ResponseWriter, c *call) error {
	return s.showDelete(w, c, http.StatusOK, "")
}

func (s *Site) showDelete(w http.ResponseWriter, c *call, status int, notice string) error {
	st, err := c.stored()
	if err == nil && !st.access.Rights.Edit {
		err = &service.Error{Kind: service.Forbidden, Detail: "Only editors of this page may delete submissions."}
	}
	if err != nil {
		return err
	}
	answers := st.answers()
	for i := range answers { // enough to recognise it
		answers[i].Value = forms.Truncate(answers[i].Value, maxDeleteAnswer)
	}
	return c.render(w, status, "delete", &deletePage{
		Layout: c.formLayout("Delete submission"+st.number(), st.access), Crumbs: c.crumbsOf(st), Number: st.number(),
		Answers: answers, Action: st.at("/delete"), Cancel: st.at(""), Tag: st.access.Tag(st.sub), Notice: notice,
	})
}

func (s *Site) deleteSubmission(w http.ResponseWriter, c *call) error {
	_, id, err := c.Submission()
	if err != nil {
		return err
	}
	sent, err := c.readForm(w, maxForm, errUnreadable)
	if err != nil {
		return err
	}
	access, err := c.Reopen() // the body may have taken long to arrive
	if err != nil {
		return err
	}
	err = access.Delete(c.Context(), id, wantTag(sent))
	if errors.Is(err, errChanged) {
		return s.showDelete(w, c, http.StatusConflict, "The submission or its form has changed since you opened it. It was not deleted. Look at it once more.")
	}
	if err != nil {
		return err
	}
	deleted := "deleted=" + strconv.FormatInt(id, 10)
	redirect(w, c.Request, withQuery(c.formPath(access.Form)+"/results", deleted, c.openedFrom(access.Form).listQuery()))
	return nil
}

// file sends a file of a submission.
func (s *Site) file(w http.ResponseWriter, c *call) error {
	request.NoCompression(w.Header())
	return c.SendFile(w)
}
