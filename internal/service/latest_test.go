package service

import (
	"context"
	"fmt"
	"testing"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// latest puts the caller's latest submissions into words.
func (w *world) latest(who auth.Identity, limit int) (words []string) {
	w.t.Helper()
	list, err := w.Pages(w.t.Context(), who)
	testkit.Must(w.t, err)
	own, err := w.Latest(w.t.Context(), who, list, limit)
	testkit.Must(w.t, err)
	for _, o := range own {
		if o.Form.ID != o.FormID || o.Form.PageID != o.PageID || o.Username != who.Name || !o.Created.Equal(w.clock) {
			w.t.Errorf("submission %d: %+v", o.ID, o)
		}
		words = append(words, fmt.Sprintf("%d %s %s", o.ID, o.PageTitle, o.FormID))
	}
	return words
}

func TestLatest(t *testing.T) { enginetest.Each(t, testLatest) }

func testLatest(t *testing.T, on enginetest.Engine) {
	w := newWorldOn(t, on)
	second := &pages.Page{ID: 2, Title: "Page 2", Forms: []*forms.Form{{ID: "named", PageID: 2, Fields: w.page.Forms[0].Fields}}}
	mayView := true
	w.source.Put(second, func(pages.User) pages.Rights { return pages.Rights{View: mayView} })
	wants := func(what string, limit int, want ...string) {
		t.Helper()
		testkit.Diff(t, what, w.latest(owner, limit), want)
	}
	wants("nothing sent", 10)
	first := w.submits(owner, "named", "x").ID
	w.submits(editor, "named", "of somebody else")
	access, err := w.Form(t.Context(), owner, 2, "named")
	testkit.Must(t, err)
	sub, _, err := access.Create(t.Context(), answer("x"), "")
	testkit.Must(t, err)
	w.submits(owner, "anonymous", "x")
	last := w.submits(owner, "named-once", "x").ID
	lines := []string{fmt.Sprint(last, " Page 1 named-once"), fmt.Sprint(sub.ID, " Page 2 named"), fmt.Sprint(first, " Page 1 named")}
	wants("three of four", 10, lines...)
	wants("a limit", 2, lines[:2]...)
	wants("no limit", 0)

	mayView = false
	wants("one page may not be viewed", 10, lines[0], lines[2])
	mayView = true
	w.page.Forms[1].Anonymous = true
	wants("a form has become anonymous", 10, lines[1:]...)
	w.page.Forms = w.page.Forms[2:]
	wants("forms have left their page", 10, lines[1])
}

func TestMine(t *testing.T) {
	w := newWorld(t)
	wants := func(what string, who auth.Identity, formID string, want int64) {
		t.Helper()
		id, found, err := w.as(who, formID).Mine(t.Context())
		if err != nil || id != want || found != (want != 0) {
			t.Errorf("%s: %d, found %t, %v, want %d", what, id, found, err, want)
		}
	}
	wants("nothing sent", owner, "named", 0)
	first := w.submits(owner, "named", "first")
	last := w.submits(owner, "named", "last")
	w.submits(editor, "named-once", "of somebody else")
	wants("the latest", owner, "named", last.ID)
	wants("only of the form", owner, "named-once", 0)
	wants("an editor sees their own", editor, "named", 0)
	testkit.Must(t, w.as(editor, "named").Delete(t.Context(), last.ID, nil))
	wants("after a delete", owner, "named", first.ID)

	w.submits(owner, "anonymous", "x")
	wants("an anonymous form", owner, "anonymous", 0)
	w.page.Forms[0].Anonymous = true
	wants("a form that has become anonymous", owner, "named", 0)
	w.page.Forms[0].Anonymous = false

	w.opts.Store = unreadable{w.store}
	wants("without reading it", owner, "named", first.ID)
}

// unreadable is a store that finds submissions, and can't read them.
type unreadable struct{ store.Store }

func (unreadable) Get(context.Context, store.Key) (forms.Submission, error) {
	return forms.Submission{}, store.ErrUnavailable
}

func TestAnswered(t *testing.T) {
	w := newWorld(t)
	wants := func(what string, who auth.Identity, formID string, want bool) {
		t.Helper()
		state, err := w.as(who, formID).Availability(t.Context())
		if state.Answered != want || state.Takes() == want || err != nil {
			t.Errorf("%s, %s: %+v, %v", what, formID, state, err)
		}
	}
	for _, id := range []string{"named", "anonymous", "named-once", "anonymous-once"} {
		wants("before", owner, id, false)
		w.submits(owner, id, "x")
		wants("after", owner, id, id == "named-once" || id == "anonymous-once")
		wants("somebody else", viewer, id, false)
	}
	wants("another anonymous form", owner, "anonymous-too", false)
	w.page.Form("named").OneSubmission = true
	wants("a limit that was set later", owner, "named", true)
}

// Submissions are counted for editors, up to a bound that only a higher limit of the form moves.
func TestAvailabilityCounts(t *testing.T) {
	w := newWorld(t)
	for range MaxCount + 2 {
		w.submits(owner, "named", "x")
	}
	w.submits(owner, "anonymous", "x")
	for limit, want := range map[int]string{0: "100 0", MaxCount + 1: "101 0", MaxCount + 9: "102 7"} {
		w.page.Form("named").Limit = limit
		states, err := w.Availabilities(t.Context(), w.as(editor, "anonymous"), w.as(editor, "named"), w.as(viewer, "anonymous"))
		testkit.Must(t, err)
		testkit.Same(t, fmt.Sprint("limit ", limit), fmt.Sprint(states[1].Count, states[1].Left), want)
		testkit.Same(t, "others", fmt.Sprint(states[0].Count, states[2].Count), "1 0")
	}
}
