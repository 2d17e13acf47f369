package service

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// A submission holds at most so many bytes of field ids and values, however
// often it is merged.
func TestSubmissionHasALimit(t *testing.T) {
	w := newWorld(t)
	a := w.as(owner, "named")
	const room = maxSubmission - len("text")
	w.wants("one byte too many", w.creates(a, answer(strings.Repeat("x", room+1)), ""), "too large")
	if ids := w.lists(a, query.List{}); ids != nil {
		t.Errorf("stored: %v", ids)
	}
	sub := w.submits(owner, "named", strings.Repeat("x", room-1-2))

	w.wants("merge up to the limit", w.merges(a, sub.ID, "n", "11"), "ok")
	sub = w.gets(a, sub.ID)
	for _, who := range []auth.Identity{owner, editor} {
		w.wants("merge beyond it", w.merges(w.as(who, "named"), sub.ID, "n", "111"), "too large")
		testkit.Diff(t, "the refused merge", w.gets(a, sub.ID), sub)
	}
	grows := w.merges(a, sub.ID, "n", strings.Repeat("1", 20), "text", strings.Repeat("x", 10))
	w.wants("one field grows, and another shrinks by more", grows, "ok")
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
	w.wants("up to the limit", w.merges(a, sub.ID, "text", "the last that fits"), "ok")
	sub = w.gets(a, sub.ID)
	one := []forms.Answer{{FieldID: "n", Value: "1"}}
	w.wants("beyond it, only checked", a.ValidateMerge(t.Context(), sub.ID, one, nil), "too large")
	w.wants("beyond it", w.merges(a, sub.ID, "n", "1"), "too large")
	testkit.Diff(t, "the refused merge", w.gets(a, sub.ID), sub)
	w.wants("a field that it has", w.merges(a, sub.ID, "text", "changed"), "ok")
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
		err := w.merges(a, sub.ID, "text", strings.Repeat("y", step.bytes))
		w.wants(fmt.Sprintf("a merge to %d bytes", step.bytes), err, step.want)
		w.gets(a, sub.ID)
	}
	w.wants("delete", a.Delete(t.Context(), sub.ID, nil), "ok")
}
