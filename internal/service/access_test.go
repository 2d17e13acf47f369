package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/pages/pagestest"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// Every caller's rights on the submission that owner made; viewer has made one
// of their own beside it.
func TestWhoMayDoWhat(t *testing.T) {
	w := newWorld(t)
	for _, row := range testkit.Rows(`
		named | owners | owner | ok | own | ok | forbidden
		named | owners | viewer | not found | own | not found | not found
		named | owners | editor | ok | all | ok | ok
		named | viewers | owner | ok | all | ok | forbidden
		named | viewers | viewer | ok | all | forbidden | forbidden
		named | viewers | editor | ok | all | ok | ok
		anonymous | owners | owner | not found | none | not found | not found
		anonymous | owners | viewer | not found | none | not found | not found
		anonymous | owners | editor | ok | all | ok | ok
		anonymous | viewers | owner | ok | all | forbidden | forbidden
		anonymous | viewers | viewer | ok | all | forbidden | forbidden
		anonymous | viewers | editor | ok | all | ok | ok
	`) {
		form, results, who := row[0], row[1], known[row[2]]
		get, list, merge, del := row[3], row[4], row[5], row[6]
		t.Run(fmt.Sprintf("%s, results for %s, %s", form, results, who.Name), func(t *testing.T) {
			w.t, w.resultsForViewers = t, results == "viewers"
			first, second := w.submits(owner, form, "old"), w.submits(viewer, form, "other")
			mine := map[string][]int64{"owner": {first.ID}, "viewer": {second.ID}}[who.Name]
			a := w.as(who, form)

			if a.Rights.Edit != (del == "ok") || a.Rights.SeeAll != (list == "all") {
				t.Errorf("Edit is %t and SeeAll %t", a.Rights.Edit, a.Rights.SeeAll)
			}
			ids := w.lists(a, query.List{})
			want := map[string][]int64{"own": mine, "all": {first.ID, second.ID}, "none": nil}[list]
			testkit.Diff(t, "list", ids, want)
			got, err := a.Get(t.Context(), first.ID)
			w.wants("get", err, get)
			if err == nil && !cmp.Equal(got, first) {
				t.Errorf("got %+v, want %+v", got, first)
			}
			w.wants("may change", a.MayChange(first, first.Values), merge)
			w.clock = w.clock.Add(time.Second)
			merged, err := a.Merge(t.Context(), first.ID, answer("new"), nil, admitAll)
			w.wants("merge", err, merge)
			w.keepsValue(first, merged, err, who.Name)
			w.wants("delete", a.Delete(t.Context(), first.ID, nil), del)
			left := w.lists(w.as(editor, form), query.List{})
			if gone := !slices.Contains(left, first.ID); gone != (del == "ok") {
				t.Errorf("after the delete: %v", left)
			}
			for _, id := range left {
				w.wants("delete the rest", w.as(editor, form).Delete(t.Context(), id, nil), "ok")
			}
		})
	}
}

// keepsValue checks that a refused merge changed nothing, and that one that
// went through kept who sent it and when.
func (w *world) keepsValue(before, merged forms.Submission, mergeErr error, by string) {
	w.t.Helper()
	now, err := w.store.Get(w.t.Context(), store.Key{PageID: 1, FormID: before.FormID, ID: before.ID})
	testkit.Must(w.t, err)
	want := before
	if mergeErr == nil {
		entries, err := before.Entries.Decode()
		testkit.Must(w.t, err)
		entries[0].Value, want.Changed, want.Changer = "new", w.clock, by
		if want.Username == "" {
			want.Changed, want.Changer = w.clock.Truncate(24*time.Hour), ""
		}
		want.Entries = forms.EncodeEntries(nil, entries)
		testkit.Diff(w.t, "answer of the merge", merged, want)
	}
	testkit.Diff(w.t, "stored after the merge", now, want)
}

// Somebody whom the wiki has blocked reads what they have sent, and writes nothing:
// not even what is stored already.
func TestBlocked(t *testing.T) {
	w := newWorld(t)
	sub, _, err := w.as(owner, "named").Create(t.Context(), answer("sent before"), "key")
	w.wants("before", err, "ok")
	w.blocked = "owner"
	a := w.as(owner, "named")
	w.gets(a, sub.ID)
	for _, key := range []string{"", "key"} {
		w.wants("create with key "+key, w.creates(a, answer("sent before"), key), "forbidden")
		w.wants("validate with key "+key, a.ValidateNew(t.Context(), answer("sent before"), key), "forbidden")
	}
	w.wants("merge", w.merges(a, sub.ID, "text", "changed"), "forbidden")
	w.wants("may merge", a.MayMerge(t.Context(), sub.ID, nil), "forbidden")
	w.wants("delete", a.Delete(t.Context(), sub.ID, nil), "forbidden")
	state, err := a.Availability(t.Context())
	if err != nil || !strings.Contains(state.Reason.String(), "blocked") {
		t.Errorf("the form is %+v, %v", state, err)
	}
}

func TestPageThatMayNotBeViewedIsLikeNone(t *testing.T) {
	w := newWorld(t)
	_, hiddenForms := w.Forms(t.Context(), outsider, 1)
	_, hiddenForm := w.Form(t.Context(), outsider, 1, "named")
	_, hiddenNoForm := w.Form(t.Context(), outsider, 1, "nope")
	w.source.Remove(1)
	_, missingForms := w.Forms(t.Context(), outsider, 1)
	_, missingForm := w.Form(t.Context(), outsider, 1, "named")
	for what, err := range map[string]error{
		"forms of a hidden page": hiddenForms, "form on a hidden page": hiddenForm, "missing form on a hidden page": hiddenNoForm,
		"forms of a missing page": missingForms, "form on a missing page": missingForm,
	} {
		w.wants(what, err, "not found")
		if err.Error() != missingForms.Error() {
			t.Errorf("%s: %q tells more than %q", what, err, missingForms)
		}
	}
}

// Nobody owns an anonymous submission, somebody without a name included.
func TestNobodyOwnsAnAnonymousSubmission(t *testing.T) {
	w := newWorld(t)
	sub := w.submits(owner, "anonymous", "x")
	a := w.as(auth.Identity{Name: "", Groups: []string{"readers"}}, "anonymous")
	_, err := a.Get(t.Context(), sub.ID)
	w.wants("get", err, "not found")
	w.wants("merge", w.merges(a, sub.ID, "text", "y"), "not found")
}

func TestUnknownForm(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"", "Named", "named ", "nope"} {
		_, err := w.Form(t.Context(), viewer, 1, id)
		w.wants(fmt.Sprintf("form %q", id), err, "not found")
	}
	list, err := w.Forms(t.Context(), viewer, 1)
	if err != nil || len(list) != len(w.page.Forms) || list[0].ID != "named" {
		t.Errorf("got %d forms, %v; want all, in page order", len(list), err)
	}
	w.source.Put(&pages.Page{ID: 2}, pagestest.Everything)
	if list, err := w.Forms(t.Context(), viewer, 2); err != nil || len(list) != 0 {
		t.Errorf("a page without forms: got %v, %v", list, err)
	}
}

// A submission of somebody else, of another page or of another form is like none.
func TestSubmissionOfOthersIsLikeNone(t *testing.T) {
	w := newWorld(t)
	w.source.Put(&pages.Page{ID: 2, Forms: []*forms.Form{{ID: "named", PageID: 2}}}, pagestest.Everything)
	elsewhere, err := w.Form(t.Context(), editor, 2, "named")
	testkit.Must(t, err)
	sub := w.submits(owner, "named", "x")
	for who, a := range map[string]*Access{
		"somebody else": w.as(viewer, "named"), "another page": elsewhere, "another form": w.as(editor, "named-once"),
	} {
		for what, call := range map[string]func(id int64) error{
			"get":    func(id int64) error { return testkit.ErrorOf(a.Get(t.Context(), id)) },
			"merge":  func(id int64) error { return w.merges(a, id, "text", "y") },
			"delete": func(id int64) error { return a.Delete(t.Context(), id, nil) },
		} {
			err, none := call(sub.ID), call(999)
			w.wants(who+", "+what, err, "not found")
			testkit.Same(t, who+", "+what, err.Error(), none.Error())
		}
	}
}

func TestInvalidAnswersStoreNothing(t *testing.T) {
	w := newWorld(t)
	a := w.as(owner, "named-once")
	bad := []forms.Answer{{FieldID: "n", Value: "many"}}
	w.wants("create", w.creates(a, bad, ""), `invalid map[n:must be a number such as 12 or -3.5 text:is required] []`)
	if ids := w.lists(w.as(editor, "named-once"), query.List{}); ids != nil {
		t.Errorf("stored: %v", ids)
	}
	sub := w.submits(owner, "named-once", "x") // the failed attempt did not use up the one submission
	w.wants("merge", w.merges(a, sub.ID, "n", "many"), `invalid map[n:must be a number such as 12 or -3.5] []`)
	testkit.Diff(t, "after the failed merge", w.gets(a, sub.ID), sub)
}

// The store finds the first submission. A form with or without names tells the second one of it.
func TestOneSubmission(t *testing.T) {
	const taken = `invalid map[] ["this form takes one submission from each person, and yours is already there"]`
	for _, id := range []string{"named-once", "anonymous-once"} {
		w := newWorld(t)
		w.submits(owner, id, "x")
		w.wants(id+", a second one", w.creates(w.as(owner, id), answer("again"), ""), taken)
		w.wants(id+", only checked", w.as(owner, id).ValidateNew(t.Context(), answer("again"), ""), taken)
		w.wants(id+", another person's", w.as(viewer, id).ValidateNew(t.Context(), answer("x"), ""), "ok")
		w.submits(viewer, id, "another person's")
		w.submits(owner, "anonymous-too", "to another form")
	}
}

// What is not admitted changes nothing.
func TestMergeAsksBeforeItChangesAnything(t *testing.T) {
	w := newWorld(t)
	sub, a := w.submits(editor, "named", "old"), w.as(editor, "named")
	full := errors.New("no room for the answer")
	_, err := a.Merge(t.Context(), sub.ID, answer("new"), nil, func(int) error { return full })
	testkit.ErrorIs(t, "merge", err, full)
	testkit.Diff(t, "stored", w.gets(a, sub.ID), sub)
}
