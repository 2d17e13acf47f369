package service

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// A submission holds at most so many bytes of field ids and values, however
// often it is merged.
func TestSubmissionHasALimit(t *testing.T) {
	w := newWorld(t)
	a := w.as(owner, "named")
	text := func(n int) []forms.Answer { return answer(strings.Repeat("x", n)) }
	number := func(n int) []forms.Answer {
		return []forms.Answer{{FieldID: "n", Value: strings.Repeat("1", n)}}
	}
	const room = maxSubmission - len("text")
	_, _, err := a.Create(t.Context(), text(room+1), "")
	w.wants("one byte too many", err, "too large")
	if ids := w.lists(a, ListOptions{}); ids != nil {
		t.Errorf("stored: %v", ids)
	}
	sub := w.submits(owner, "named", strings.Repeat("x", room-1-2))

	sub, err = a.Merge(t.Context(), sub.ID, number(2), nil, admitAll)
	w.wants("merge up to the limit", err, "ok")
	for _, who := range []auth.Identity{owner, editor} {
		_, err = w.as(who, "named").Merge(t.Context(), sub.ID, number(3), nil, admitAll)
		w.wants("merge beyond it", err, "too large")
		if now, err := a.Get(t.Context(), sub.ID); err != nil || !cmp.Equal(now, sub) {
			t.Errorf("the refused merge left %+v, %v, want %+v", now, err, sub)
		}
	}
	_, err = a.Merge(t.Context(), sub.ID, append(number(20), text(10)...), nil, admitAll)
	w.wants("one field grows, and another shrinks by more", err, "ok")
}

// A submission has answers to at most 8191 fields, with those of fields that have
// left the page.
func TestSubmissionHasALimitOfFields(t *testing.T) {
	w := newWorld(t)
	w.opts.MaxSubmission = 1 << 20
	n := store.New{PageID: 1, FormID: "named", Username: "owner", Created: w.clock}
	for i := range forms.MaxEntries - 1 {
		n.Entries = append(n.Entries, forms.Entry{FieldID: fmt.Sprint("gone", i)})
	}
	sub, err := w.store.Create(t.Context(), n)
	testkit.Must(t, err)
	a := w.as(owner, "named")
	sub, err = a.Merge(t.Context(), sub.ID, answer("the last that fits"), nil, admitAll)
	w.wants("up to the limit", err, "ok")
	one := []forms.Answer{{FieldID: "n", Value: "1"}}
	w.wants("beyond it, only checked", a.ValidateMerge(t.Context(), sub.ID, one, nil), "too large")
	_, err = a.Merge(t.Context(), sub.ID, one, nil, admitAll)
	w.wants("beyond it", err, "too large")
	if now, err := a.Get(t.Context(), sub.ID); err != nil || !cmp.Equal(now, sub) {
		t.Errorf("the refused merge has changed the submission: %v", err)
	}
	_, err = a.Merge(t.Context(), sub.ID, answer("changed"), nil, admitAll)
	w.wants("a field that it has", err, "ok")
}

// What was stored before there was a limit, or under a higher one, can be read
// and deleted, and may shrink or keep its size.
func TestSubmissionThatIsLargerAlready(t *testing.T) {
	w := newWorld(t)
	w.opts.MaxSubmission = 1000
	a := w.as(editor, "named")
	sub := w.submits(owner, "named", strings.Repeat("x", 500))
	w.opts.MaxSubmission = maxSubmission
	for _, step := range []struct {
		bytes int
		want  string
	}{{501, "too large"}, {500, "ok"}, {499, "ok"}, {500, "too large"}, {300, "ok"}, {10, "ok"}, {90, "ok"}, {97, "too large"}} {
		_, err := a.Merge(t.Context(), sub.ID, answer(strings.Repeat("y", step.bytes)), nil, admitAll)
		w.wants(fmt.Sprintf("a merge to %d bytes", step.bytes), err, step.want)
		_, err = a.Get(t.Context(), sub.ID)
		w.wants("get", err, "ok")
	}
	w.wants("delete", a.Delete(t.Context(), sub.ID, nil), "ok")
}
