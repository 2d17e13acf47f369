package service

import (
	"errors"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

var errStale = errors.New("stale")

// decided is a form whose submissions are locked when editors have decided.
func (w *world) decided() *forms.Form {
	form := &forms.Form{
		ID: "decided", PageID: 1, Withdraw: true,
		Fields: []*forms.Field{
			{ID: "text", Type: forms.Textbox},
			{ID: "state", Type: forms.Status, Options: []string{"open", "granted"}, Validation: forms.OneOf, ByEditors: true},
			{ID: "note", Type: forms.Textbox, ByEditors: true},
		},
		LockIf: &forms.Condition{Match: forms.MatchAll, Rules: []forms.Rule{{FieldID: "state", Operator: forms.Equals, Value: "granted"}}},
	}
	w.page = &pages.Page{ID: 1, Title: "Page 1", Forms: append(w.page.Forms, form)}
	w.source.Put(w.page, w.rights)
	return form
}

// While a submission is locked, only editors change or delete it.
func TestLock(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, on enginetest.Engine) {
		w := newWorldOn(t, on)
		w.allView = true
		w.decided()
		ctx, mine, theirs, edits := t.Context(), w.as(owner, "decided"), w.as(viewer, "decided"), w.as(editor, "decided")
		sub := w.submits(owner, "decided", "a")
		w.wants("change while it is open", w.merges(mine, sub.ID, "text", "b"), "ok")
		w.wants("grant", w.merges(edits, sub.ID, "state", "granted"), "ok")
		stale := func(string) error { return errStale }
		for what, err := range map[string]error{
			"change":                  w.merges(mine, sub.ID, "text", "c"),
			"change to nothing":       w.merges(mine, sub.ID),
			"change with a bad value": w.merges(mine, sub.ID, "unknown", "c"),
			"validate":                mine.ValidateMerge(ctx, sub.ID, answer("c"), stale),
			"ask before files":        mine.MayMerge(ctx, sub.ID, stale),
			"withdraw":                mine.Delete(ctx, sub.ID, stale),
		} {
			if err != ErrLocked { //nolint:errorlint // it is returned as it is
				t.Errorf("%s: %v", what, err)
			}
		}
		w.wants("somebody else", theirs.Delete(ctx, sub.ID, nil), "not found")
		w.wants("an editor changes it", w.merges(edits, sub.ID, "text", "d"), "ok")
		w.wants("an editor opens it again", w.merges(edits, sub.ID, "state", "open"), "ok")
		w.wants("change it again", w.merges(mine, sub.ID, "text", "e"), "ok")
		w.wants("grant again", w.merges(edits, sub.ID, "state", "granted"), "ok")
		w.wants("an editor deletes it", edits.Delete(ctx, sub.ID, nil), "ok")
	})
}

// Whoever sent a submission withdraws it, if the form says so.
func TestWithdraw(t *testing.T) {
	w := newWorld(t)
	w.allView, w.resultsForViewers = true, true
	form := w.decided()
	ctx := t.Context()
	sub := w.submits(owner, "decided", "a")
	w.wants("somebody else", w.as(viewer, "decided").Delete(ctx, sub.ID, nil), "forbidden")
	w.wants("in another state", w.as(owner, "decided").Delete(ctx, sub.ID, func(string) error { return errStale }), "fault: stale")
	w.blocked = "owner"
	w.wants("whom the wiki has blocked", w.as(owner, "decided").Delete(ctx, sub.ID, nil), "forbidden")
	w.blocked = ""
	form.Closes = forms.Moment{Day: "2026-01-01"}
	w.wants("after it has closed", w.as(owner, "decided").Delete(ctx, sub.ID, nil), "ok")
	w.wants("twice", w.as(owner, "decided").Delete(ctx, sub.ID, nil), "not found")
	w.wants("where the form does not say so", w.as(owner, "named").Delete(ctx, w.submits(owner, "named", "a").ID, nil), "forbidden")
}

func TestHistory(t *testing.T) {
	w := newWorld(t)
	w.allView = true
	form := w.decided()
	ctx, mine, edits := t.Context(), w.as(owner, "decided"), w.as(editor, "decided")
	sub := w.submits(owner, "decided", "a")
	history := func(a *Access, want ...forms.Step) {
		t.Helper()
		got, err := a.History(ctx, sub)
		testkit.Must(t, err)
		testkit.Diff(t, "", got, append([]forms.Step{}, want...))
	}
	at := func(minutes int) time.Time {
		return w.clock.Truncate(time.Hour).Add(time.Duration(minutes)*time.Minute + 123e6)
	}
	start := w.clock
	change := func(a *Access, fields ...string) {
		t.Helper()
		w.clock = w.clock.Add(time.Minute)
		w.wants("change", w.merges(a, sub.ID, fields...), "ok")
	}
	history(mine)
	change(mine, "text", "b")
	change(mine, "text", "b") // nothing has changed
	change(edits, "note", "not for others", "state", "granted")
	change(edits, "note", "nor this")
	first := forms.Step{At: at(1), Username: "owner", Changes: []forms.ValueChange{{FieldID: "text", Before: "a", After: "b"}}}
	state := forms.ValueChange{FieldID: "state", Before: "", After: "granted"}
	history(mine, first, forms.Step{At: at(3), Username: "editor", Changes: []forms.ValueChange{state}})
	last := forms.Step{At: at(4), Username: "editor", Changes: []forms.ValueChange{{FieldID: "note", Before: "not for others", After: "nor this"}}}
	history(edits, first, forms.Step{At: at(3), Username: "editor", Changes: []forms.ValueChange{
		state, {FieldID: "note", Before: "", After: "not for others"},
	}}, last)
	_, err := w.as(viewer, "decided").History(ctx, sub)
	w.wants("of somebody else's", err, "not found")

	// A field that has left the page may have been one of the editors.
	note := form.Fields[2]
	form.Fields = form.Fields[:2]
	history(mine, first, forms.Step{At: at(3), Username: "editor", Changes: []forms.ValueChange{state}})
	form.Fields = append(form.Fields, note)

	// Nor is a text of editors for others, if its field has become a choice.
	form.Fields[2] = &forms.Field{ID: "note", ByEditors: true, Options: []string{"not for others", "other"}}
	history(mine, first, forms.Step{At: at(3), Username: "editor", Changes: []forms.ValueChange{
		state, {FieldID: "note", Before: "", After: "not for others"},
	}}) // the last step has a text that is no option
	form.Fields[2] = note

	form.Anonymous = true
	day := time.Date(start.Year(), start.Month(), start.Day(), 0, 0, 0, 0, time.UTC)
	history(w.as(owner, "decided"),
		forms.Step{At: day, Changes: first.Changes}, forms.Step{At: day, Changes: []forms.ValueChange{state}})
	form.Anonymous = false

	w.wants("clear by others", mine.ClearHistory(ctx, sub.ID, nil), "forbidden")
	w.wants("clear by strangers", w.as(viewer, "decided").ClearHistory(ctx, sub.ID, nil), "not found")
	before := w.gets(edits, sub.ID)
	w.clock = w.clock.Add(time.Minute)
	changed := errors.New("changed")
	testkit.ErrorIs(t, "clear with a precondition that fails", edits.ClearHistory(ctx, sub.ID, func(string) error { return changed }), changed)
	w.wants("clear", edits.ClearHistory(ctx, sub.ID, nil), "ok")
	removed := forms.Step{At: at(5), Username: "editor", Changes: []forms.ValueChange{}}
	history(mine, removed)
	testkit.Diff(t, "a removed history changes the submission", w.gets(edits, sub.ID), before)
	change(edits, "state", "open")
	history(mine, removed, forms.Step{At: at(6), Username: "editor", Changes: []forms.ValueChange{{FieldID: "state", Before: "granted", After: "open"}}})
}
