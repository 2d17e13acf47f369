package web

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/request"
)

// historyBounds is how much of a history a page shows. Other sizes are in bytes.
type historyBounds struct {
	steps int // the newest
	value int // of each value
	total int // of all values and the HTML around them
}

var (
	newestChanges = historyBounds{steps: 20, value: 300, total: 32 << 10}
	allChanges    = historyBounds{steps: 1000, value: 32 << 10, total: 128 << 10} // the API has the rest
)

// htmlPerChange is about how many bytes a page has around the values of a change.
const htmlPerChange = 300

// historyAnchor leads to the history on the page of a submission.
const historyAnchor = "#history"

// historyView is the changes of a submission, the newest first.
type historyView struct {
	Steps  []stepView
	Cut    bool   // there is more
	All    string // path of the page with that; "" if this is it
	Remove string // path to remove earlier values at; "" if the caller may not, or there are none
}

// stepView is one change of a submission. It has no answers if it has removed earlier values.
type stepView struct {
	changeView
	Answers []changedAnswer
}

// changedAnswer is what became of an answer. If it is the same, its files have another content.
type changedAnswer struct {
	Before, After answerView
	Same          bool
}

// history returns nil if there is none.
func (st stored) history() (*historyView, error) {
	if !st.sub.IsChanged() {
		return nil, nil
	}
	if err := st.HoldBody(); err != nil { // how much it is shows only when it was read
		return nil, err
	}
	steps, err := st.access.History(st.Context(), st.sub)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	v, bounds := &historyView{}, newestChanges
	if st.URL.Query().Get("history") == "all" {
		bounds = allChanges
	} else {
		v.All = withQuery(st.path, "history=all", st.list.listQuery()) + historyAnchor
	}
	v.add(st.Lang, st.access.Form, steps, bounds)
	if st.access.Rights.Edit && !st.Framed && len(steps[len(steps)-1].Changes) > 0 {
		v.Remove = st.at("/history")
	}
	return v, nil
}

// add adds as many steps as the bounds allow.
func (v *historyView) add(l *lang.Language, f *forms.Form, steps []forms.Step, bounds historyBounds) {
	answer := func(id, value string) answerView {
		value = forms.Truncate(value, bounds.value)
		bounds.total -= len(value)
		if field := f.Field(id); field != nil && field.ID == id {
			return newAnswer(l, field, value, nil)
		}
		return answerView{Label: id, Value: value}
	}
	for _, s := range slices.Backward(steps) {
		if len(v.Steps) == bounds.steps {
			v.Cut = true
			return
		}
		view := stepView{changeView: changeView{moment{s.At, f.Anonymous}, s.Username}}
		for _, c := range s.Changes {
			if bounds.total -= htmlPerChange; bounds.total < 0 {
				v.Cut = true
				break
			}
			same := c.Before == c.After
			if len(c.Before) > bounds.value || len(c.After) > bounds.value {
				v.Cut = true
				c.Before, c.After = withoutSame(c.Before, c.After)
			}
			view.Answers = append(view.Answers, changedAnswer{answer(c.FieldID, c.Before), answer(c.FieldID, c.After), same})
		}
		if len(s.Changes) == 0 || len(view.Answers) > 0 {
			v.Steps = append(v.Steps, view)
		}
	}
}

// sameBefore is how much two long texts have before what differs, in bytes.
const sameBefore = 40

// withoutSame leaves out how two texts begin, up to a few words before they differ.
func withoutSame(a, b string) (shortA, shortB string) {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	if same <= 2*sameBefore {
		return a, b
	}
	same -= sameBefore
	if space := strings.IndexByte(a[same:same+sameBefore], ' '); space >= 0 {
		same += space + 1
	} else {
		same = len(forms.CutText(a, same))
	}
	return "…" + a[same:], "…" + b[same:]
}

// clearHistory removes earlier values of a submission.
func (c *call) clearHistory() error {
	access, id, unchanged, err := c.confirmed()
	if err != nil {
		return err
	}
	err = access.ClearHistory(c.Context(), id, unchanged)
	if errors.Is(err, errChanged) {
		return request.NewStatusError(http.StatusConflict,
			forms.Say("The submission or its form has changed since you opened it. Look at its history once more."))
	}
	if err != nil {
		return err
	}
	path := withQuery(c.submissionPath(access.Form, id), c.openedFrom(access.Form).listQuery())
	return c.redirect(path + historyAnchor)
}
