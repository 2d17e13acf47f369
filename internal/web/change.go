package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/service"
)

// changePage is a submission to change.
type changePage struct {
	Layout
	Heading string
	Form    *formView
	Notice  string
	Theirs  []difference // what is stored now, after a conflict
}

// difference is a question whose stored answer is not that in the form.
type difference struct{ Label, Theirs, Yours string }

func (c *call) newChangePage(st stored, with filling) (*changePage, error) {
	view, err := c.formView("f0", st.access.Form, with)
	if err != nil {
		return nil, err
	}
	view.Action, view.Submit, view.Cancel = st.at("/change"), c.Lang.Text("Save"), st.at("")
	view.Hidden = url.Values{
		tagControl: {st.access.Tag(st.sub)}, forControl: {c.hashUser()}, labelsControl: {labelsOf(st.access)},
	}
	view.Draft = c.draftName(st.access, c.unframedPath(st.path))
	heading := st.numbered(forms.Say("Change submission"), forms.Say("Change submission {0}", st.number()))
	page := &changePage{Layout: st.layout(heading), Heading: heading, Form: view}
	page.Script, page.LangForm = "form.js", view.ID
	return page, nil
}

func (c *call) changeSubmission() error {
	st, err := c.changeable()
	if err != nil {
		return err
	}
	if reason := closedReason(st.access); reason != nil {
		return &service.Error{Kind: service.Forbidden, Detail: reason}
	}
	page, err := c.newChangePage(st, st.filling())
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, "change", page)
}

// closedReason says why a form takes no changes now, nil if it does.
func closedReason(access *service.Access) *forms.Message {
	if closed, ok := errors.AsType[*forms.Invalid](access.MayUpdate()); ok {
		return forms.Say("{0}.", closed.Errors[0])
	}
	return nil
}

// errChanged: the submission or its form is not in the state that the page shows.
var errChanged = errors.New("changed meanwhile")

// wantTag is the precondition that the submission is in the state that the page shows.
func wantTag(shown string) service.Precondition {
	return func(tag string) error {
		if tag != shown {
			return errChanged
		}
		return nil
	}
}

func (c *call) saveSubmission() error {
	before, err := c.changeable() // don't take files for a change that is never allowed
	access := before.access
	if isKind(err, service.NotFound) {
		access, err = c.Form()
	}
	locked := errors.Is(err, service.ErrLocked)
	if err != nil && !locked {
		return err
	}
	sent, access, err := c.receive(access)
	switch {
	case err != nil:
		return err
	case locked:
		access.DropFiles(service.StagedFiles(sent.answers))
		return c.showChangeAgain(sent, lockedRefusal)
	case before.access == nil:
		access.DropFiles(service.StagedFiles(sent.answers))
		return c.showDeleted(access, sent)
	case sent.extra.Has(updateControl) && sent.extra.Has(setControl):
		return c.showSetAgain(sent, refusal{status: http.StatusOK})
	case sent.extra.Has(updateControl):
		return c.showChangeAgain(sent, refusal{status: http.StatusOK})
	}
	return c.merge(access, before, sent)
}

var lockedRefusal = refusal{
	status: http.StatusForbidden,
	reason: forms.Say("Only editors can change it now. Nothing was saved; what you have typed is below."),
}

func isKind(err error, kind service.Kind) bool {
	var known *service.Error
	return errors.As(err, &known) && known.Kind == kind
}

// showDeleted shows a change of a submission that is not there any more as a form
// to send, so that what was typed is not lost.
func (c *call) showDeleted(access *service.Access, sent received) error {
	return c.showAgain(access, sent, refusal{
		status: http.StatusNotFound,
		reason: forms.Say("The submission was deleted since you opened it. Nothing was saved. " +
			"“Send” makes a new submission, in your name, of what you see here."),
	})
}

func (c *call) merge(access *service.Access, before stored, sent received) error {
	changes := before.changes(sent)
	if sent.extra.Has(setControl) && len(changes) == 0 { // a second press of the same button
		return before.goOn(sent)
	}
	_, err := access.Merge(c.Context(), before.sub.ID, changes, wantTag(sent.extra.Get(tagControl)), c.HoldAnswer)
	var invalid *forms.Invalid
	switch {
	case errors.As(err, &invalid):
		return c.showChangeAgain(sent, refusal{status: http.StatusUnprocessableEntity, invalid: invalid})
	case errors.Is(err, errChanged) && sent.extra.Has(setControl):
		return c.showSetAgain(sent, refusal{
			status: http.StatusConflict,
			reason: forms.Say("The submission or its form has changed since you opened it. Nothing was saved. " +
				"Look at it once more, and decide again."),
		})
	case errors.Is(err, errChanged):
		return c.showChangeAgain(sent, refusal{status: http.StatusConflict})
	case errors.Is(err, service.ErrLocked):
		return c.showChangeAgain(sent, lockedRefusal)
	case isKind(err, service.NotFound):
		return c.showDeleted(access, sent)
	case err != nil:
		return err
	}
	return before.goOn(sent)
}

// goOn leads to the submission after a change was stored, or to the next one of its list.
func (st stored) goOn(sent received) error {
	if sent.extra.Has(nextControl) {
		var page submissionPage
		if err := st.setNeighbours(&page); err != nil {
			return err
		}
		if page.Next != "" {
			return st.redirect(page.Next)
		}
	}
	saved := "saved"
	if sent.extra.Has(setControl) {
		saved += "=" + sent.pressed(st.access.Form)
	}
	return st.redirect(withQuery(st.path, saved, st.list.listQuery()))
}

// showSetAgain shows a submission to an editor who has not decided yet: in another language, or because it was changed
// since they opened it. Texts that they have typed stay in their controls.
func (c *call) showSetAgain(sent received, why refusal) error {
	st, err := c.changeable()
	if err != nil {
		return err
	}
	return st.show(sent.filling(st.access.Form, st.filling(), st.values, why))
}

// pressed is the field whose answer was set with one press, or setControl.
func (r received) pressed(f *forms.Form) string {
	for i := range r.answers {
		if field := f.Field(r.answers[i].FieldID); field != nil && hasButtons(field) {
			return url.QueryEscape(field.ID)
		}
	}
	return setControl
}

// changes are the answers that differ from what is stored. What somebody did
// not touch is not checked again: the form may have become stricter since.
func (st stored) changes(sent received) []forms.Answer {
	f := st.access.Form
	answered, removed := sent.answered(), stringSet(sent.extra[removeControl])
	byID, fields := answersByID(sent.answers), f.Index()
	var changes []forms.Answer
	for _, field := range f.Fields {
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
		if !query.HasColumn(fields, a.FieldID) {
			changes = append(changes, a)
		}
	}
	return changes
}

// changedFiles is an answer of files as a change: those that were chosen are added to
// the stored ones, without those that are to go. It is nil if that changes nothing.
func (st stored) changedFiles(sent forms.Answer, removed map[string]bool) []forms.Answer {
	names := withoutRemoved(st.access.Form.Field(sent.FieldID), st.values[sent.FieldID], removed)
	unchanged := strings.Join(names, forms.Separator) == st.values[sent.FieldID]
	if unchanged && sent.Value == "" && cmp.Or(sent.Misfit, sent.Malformed) == nil {
		return nil
	}
	for i := range sent.Files {
		file := &sent.Files[i]
		file.Name = forms.UniqueFileName(file.Name, func(n string) bool { return slices.Contains(names, n) })
		names = append(names, file.Name)
	}
	if len(sent.Files) > 0 && len(names) > service.MaxFilesPerField {
		sent.Misfit = service.TooManyFiles
	}
	sent.Value = strings.Join(names, forms.Separator)
	return []forms.Answer{sent}
}

// withoutRemoved returns the file names in the value of a file field, without the removed ones.
func withoutRemoved(f *forms.Field, value string, removed map[string]bool) []string {
	if value == "" {
		return nil
	}
	return slices.DeleteFunc(strings.Split(value, forms.Separator), func(name string) bool {
		isRemoved := func(id string) bool { return removed[id+"/"+name] } // no name has a slash
		return slices.ContainsFunc(f.IDs(), isRemoved)
	})
}

// showChangeAgain shows a submission as somebody wants to change it, and why it was
// not stored. After a conflict it shows both versions, and the next "Save" replaces
// the one that is stored now.
func (c *call) showChangeAgain(sent received, why refusal) error {
	st, err := c.changeable()
	if isKind(err, service.NotFound) {
		access, err := c.Form()
		if err != nil {
			return err
		}
		return c.showDeleted(access, sent)
	}
	if errors.Is(err, service.ErrLocked) {
		why = lockedRefusal
	} else if err != nil {
		return err
	}
	with := sent.filling(st.access.Form, st.filling(), st.values, why)
	var theirs []difference
	if why.status == http.StatusConflict {
		theirs = st.differences(sent, with)
		with.why.reason = forms.Say("The submission or its form has changed since you opened it. " +
			"Nothing of yours is saved yet. The form below shows what is stored now.")
		if len(theirs) > 0 {
			with.why.reason = forms.Say("The submission or its form has changed since you opened it. Nothing of yours " +
				"is saved yet. Compare both versions: “Save” replaces what is stored by what is in the form below.")
		}
	}
	page, err := c.newChangePage(st, with)
	if err != nil {
		return err
	}
	page.Theirs, page.Notice = theirs, c.Lang.Say(why.notice)
	if why.status == http.StatusForbidden {
		page.Form.Submit = "" // it can only fail again
	}
	if why.status != http.StatusOK {
		page.Title = c.Lang.Text("Error: {0}", page.Title)
	}
	if why.status != http.StatusConflict {
		page.Form.Hidden.Set(tagControl, sent.extra.Get(tagControl))
	}
	return c.render(why.status, "change", page)
}

// differences are the questions whose stored answer the next "Save" replaces.
// Those that it does not show are left alone.
func (st stored) differences(sent received, with filling) []difference {
	f, changes, shown := st.access.Form, answersByID(st.changes(sent)), st.access.Form.Visible(with.values)
	var list []difference
	for rank, field := range f.Fields {
		change := changes[field.ID]
		if change == nil || !shown[rank] {
			continue
		}
		yours := with.values[rank]
		if field.Type == forms.File {
			yours = change.Value // with those that were chosen
		}
		list = append(list, difference{field.Label, st.Lang.Answer(field, st.values[field.ID]), st.Lang.Answer(field, yours)})
	}
	return list
}

// resumeChange shows a change as it was before its user had to sign in again.
func (c *call) resumeChange(typed url.Values) error {
	return c.showChangeAgain(newReceived(typed), refusal{status: http.StatusOK, notice: resumedNotice})
}
