package web

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/formulary/formulary/internal/forms"
)

// maxDeleteAnswer is how much of each answer the question before a delete shows, in bytes.
const maxDeleteAnswer = 2 << 10

// deletePage asks whether a submission is really to go.
type deletePage struct {
	Layout
	Number  string
	Answers []answerView
	Action  string
	Cancel  string
	Tag     string
	Notice  string
}

func (c *call) confirmDelete() error {
	return c.showDelete(http.StatusOK, "")
}

func (c *call) showDelete(status int, notice string) error {
	st, err := c.stored()
	if err == nil {
		err = st.access.MayDelete(st.sub)
	}
	if err != nil {
		return err
	}
	answers := st.answers()
	for i := range answers { // enough to recognise it
		answers[i].Value = forms.Truncate(answers[i].Value, maxDeleteAnswer)
	}
	title := "Withdraw submission"
	if st.access.Rights.Edit {
		title = "Delete submission"
	}
	return c.render(status, "delete", &deletePage{
		Layout: st.layout(title + st.number()), Number: st.number(),
		Answers: answers, Action: st.at("/delete"), Cancel: st.at(""), Tag: st.access.Tag(st.sub), Notice: notice,
	})
}

func (c *call) deleteSubmission() error {
	_, id, err := c.Submission()
	if err != nil {
		return err
	}
	sent, err := c.readForm(maxForm, errUnreadable)
	if err != nil {
		return err
	}
	access, err := c.Reopen() // the body may have taken long to arrive
	if err != nil {
		return err
	}
	err = access.Delete(c.Context(), id, wantTag(sent))
	if errors.Is(err, errChanged) {
		return c.showDelete(http.StatusConflict, "The submission or its form has changed since you opened it. "+
			"It was not deleted. Look at it once more.")
	}
	if err != nil {
		return err
	}
	deleted := "deleted=" + strconv.FormatInt(id, 10)
	return c.redirect(withQuery(c.formPath(access.Form)+"/results", deleted, c.openedFrom(access.Form).listQuery()))
}
