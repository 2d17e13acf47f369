package service

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// told is an event in the store, in short.
type told struct {
	Form, Type string
	Submission int64
	Created    time.Time
	Anonymous  bool
}

// listens has all changes told to a hook, and returns what is stored for it.
func (w *world) listens() (stored func() []told) {
	w.opts.Events = func(form *forms.Form, _ string, anonymous bool, eventType string, at time.Time, _ map[string]string) []store.Event {
		if form.PageID != 1 || form.ID == "" {
			w.t.Errorf("events of form %d %q", form.PageID, form.ID)
		}
		return []store.Event{{Queue: store.Queue{Hook: "crm"}, Type: eventType, Created: at, Message: "m", Anonymous: anonymous}}
	}
	return func() (list []told) {
		err := storetest.EachDumped(w.store.(store.Engine).Dump(w.t.Context()), func(store.Record) error { return nil }, func(e store.Event) error {
			list = append(list, told{e.FormID, e.Type, e.Submission, e.Created, e.Anonymous})
			return nil
		})
		testkit.Must(w.t, err)
		return list
	}
}

// TestEvents: every change stores its event, and what changes nothing stores none.
func TestEvents(t *testing.T) { enginetest.Each(t, testEvents) }

func testEvents(t *testing.T, on enginetest.Engine) {
	w := newWorldOn(t, on)
	stored := w.listens()
	var want []told
	expect := func(what string, add ...told) {
		t.Helper()
		want = append(want, add...)
		if diff := cmp.Diff(want, stored()); diff != "" {
			t.Fatalf("%s: %s", what, diff)
		}
	}
	tick := func() time.Time {
		w.clock = w.clock.Add(time.Second)
		return w.clock
	}
	listen, before := w.opts.Events, map[string]string{"never": "called"}
	w.opts.Events = func(form *forms.Form, _ string, anonymous bool, eventType string, at time.Time, b map[string]string) []store.Event {
		before = b
		return listen(form, "", anonymous, eventType, at, b)
	}
	a := w.as(editor, "named")
	merge := func(id int64, value string) error {
		_, err := a.Merge(t.Context(), id, answer(value), nil, admitAll)
		return err
	}

	sub := w.submits(owner, "named", "one")
	expect("create", told{"named", store.SubmissionCreated, sub.ID, w.clock, false})
	if before != nil {
		t.Errorf("before a create: %v", before)
	}
	once, _, err := w.as(owner, "named").Create(t.Context(), answer("two"), "key")
	w.wants("create with a key", err, "ok")
	expect("create with a key", told{"named", store.SubmissionCreated, once.ID, w.clock, false})
	_, replayed, err := w.as(owner, "named").Create(t.Context(), answer("two"), "key")
	if w.wants("replay", err, "ok"); !replayed {
		t.Error("not replayed")
	}
	expect("replay")
	_, _, err = a.Create(t.Context(), answer(""), "")
	if err == nil {
		t.Error("an invalid submission is stored")
	}
	w.wants("validate", a.ValidateNew(t.Context(), answer("x"), ""), "ok")
	w.wants("validate a merge", a.ValidateMerge(t.Context(), sub.ID, answer("x"), nil), "ok")
	expect("what stores nothing")

	at := tick()
	w.wants("merge", merge(sub.ID, "new"), "ok")
	expect("merge", told{"named", store.SubmissionUpdated, sub.ID, at, false})
	testkit.Diff(t, "", before, map[string]string{"text": "one"})
	tick()
	w.wants("merge of the same", merge(sub.ID, "new"), "ok")
	expect("merge of the same")

	hidden := w.submits(owner, "anonymous", "secret")
	expect("anonymous", told{"anonymous", store.SubmissionCreated, hidden.ID, w.clock, true})
	at = tick()
	w.wants("change of an anonymous one", w.merges(w.as(editor, "anonymous"), hidden.ID, "text", "new"), "ok")
	expect("change of an anonymous one", told{"anonymous", store.SubmissionUpdated, hidden.ID, at, true}) // attempts count from here
	was := w.as(owner, "named")
	was.Anonymize()
	hidden, _, err = was.Create(t.Context(), answer("secret"), "")
	w.wants("a form that was anonymous", err, "ok")
	expect("a form that was anonymous", told{"named", store.SubmissionCreated, hidden.ID, w.clock, true})

	at = tick()
	w.wants("delete", a.Delete(t.Context(), sub.ID, nil), "ok")
	expect("delete", told{"named", store.SubmissionDeleted, sub.ID, at, false})
	w.wants("delete again", a.Delete(t.Context(), sub.ID, nil), "not found")
	expect("delete again")
	w.opts.Events = nil
	w.submits(owner, "named", "nobody listens")
	expect("no listeners")
}
