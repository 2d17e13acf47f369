package web

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/service"
)

// maxDeleteAnswer is how much of each answer the question before a delete shows, in bytes.
const maxDeleteAnswer = 2 << 10

// deletePage asks whether a submission is really to go.
type deletePage struct {
	Layout
	Heading  string
	HasFiles bool
	Answers  []answerView
	Action   string
	Cancel   string
	Tag      string
	Changed  bool // since the question was asked before
}

func (c *call) confirmDelete() error {
	return c.showDelete(http.StatusOK)
}

func (c *call) showDelete(status int) error {
	st, err := c.stored()
	if err == nil {
		err = st.access.MayDelete(st.sub, st.read)
	}
	if err != nil {
		return err
	}
	answers := st.answers(st.filling())
	for i := range answers { // enough to recognise it
		answers[i].Value = forms.Truncate(answers[i].Value, maxDeleteAnswer)
	}
	number := st.number()
	title, heading := c.Lang.Text("Withdraw submission {0}", number), c.Lang.Text("Withdraw submission {0}?", number)
	if st.access.Rights.Edit {
		title = st.numbered(forms.Say("Delete submission"), forms.Say("Delete submission {0}", number))
		heading = st.numbered(forms.Say("Delete submission?"), forms.Say("Delete submission {0}?", number))
	}
	return c.render(status, "delete", &deletePage{
		Layout: st.layout(title), Heading: heading, HasFiles: len(st.sub.Files) > 0,
		Answers: answers, Action: st.at("/delete"), Cancel: st.at(""), Tag: st.access.Tag(st.sub),
		Changed: status == http.StatusConflict,
	})
}

// confirmed reads the answer to a question about a submission, which must be in the state that
// the question has shown.
func (c *call) confirmed() (access *service.Access, id int64, unchanged service.Precondition, err error) {
	if _, id, err = c.Submission(); err != nil {
		return nil, 0, nil, err
	}
	sent, err := c.readForm(maxForm, errUnreadable)
	if err != nil {
		return nil, 0, nil, err
	}
	access, err = c.Reopen() // the body may have taken long to arrive
	return access, id, wantTag(sent.Get(tagControl)), err
}

func (c *call) deleteSubmission() error {
	access, id, unchanged, err := c.confirmed()
	if err != nil {
		return err
	}
	err = access.Delete(c.Context(), id, unchanged)
	if errors.Is(err, errChanged) {
		return c.showDelete(http.StatusConflict)
	}
	if err != nil {
		return err
	}
	deleted := "deleted=" + strconv.FormatInt(id, 10)
	return c.redirect(withQuery(c.formPath(access.Form)+"/results", deleted, c.openedFrom(access.Form).listQuery()))
}
