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
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
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
			ids := w.lists(a, ListOptions{})
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
			left := w.lists(w.as(editor, form), ListOptions{})
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
	_, err = a.Get(t.Context(), sub.ID)
	w.wants("get", err, "ok")
	for _, key := range []string{"", "key"} {
		_, _, err = a.Create(t.Context(), answer("sent before"), key)
		w.wants("create with key "+key, err, "forbidden")
		w.wants("validate with key "+key, a.ValidateNew(t.Context(), answer("sent before"), key), "forbidden")
	}
	_, err = a.Merge(t.Context(), sub.ID, answer("changed"), nil, func(int) error { return nil })
	w.wants("merge", err, "forbidden")
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

func TestAnothersSubmissionIsLikeNone(t *testing.T) {
	w := newWorld(t)
	sub := w.submits(owner, "named", "x")
	a := w.as(viewer, "named")
	const missing = 999
	for what, call := range map[string]func(id int64) error{
		"get":    func(id int64) error { _, err := a.Get(t.Context(), id); return err },
		"merge":  func(id int64) error { _, err := a.Merge(t.Context(), id, answer("y"), nil, admitAll); return err },
		"delete": func(id int64) error { return a.Delete(t.Context(), id, nil) },
	} {
		others, none := call(sub.ID), call(missing)
		w.wants(what, none, "not found")
		if others.Error() != none.Error() {
			t.Errorf("%s: %q tells more than %q", what, others, none)
		}
	}
	w.wants("editor deletes what is not there", w.as(editor, "named").Delete(t.Context(), missing, nil), "not found")
}

// Nobody owns an anonymous submission, somebody without a name included.
func TestNobodyOwnsAnAnonymousSubmission(t *testing.T) {
	w := newWorld(t)
	sub := w.submits(owner, "anonymous", "x")
	a := w.as(auth.Identity{Name: "", Groups: []string{"readers"}}, "anonymous")
	_, err := a.Get(t.Context(), sub.ID)
	w.wants("get", err, "not found")
	_, err = a.Merge(t.Context(), sub.ID, answer("y"), nil, admitAll)
	w.wants("merge", err, "not found")
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

func TestSubmissionUnderAnotherFormOrPage(t *testing.T) {
	w := newWorld(t)
	second := *w.page
	second.ID = 2
	second.Forms = []*forms.Form{{ID: "named", PageID: 2, Fields: w.page.Forms[0].Fields}}
	w.source.Put(&second, pagestest.Everything)
	sub := w.submits(editor, "named", "x")

	elsewhere, err := w.Form(t.Context(), editor, 2, "named")
	testkit.Must(t, err)
	for what, a := range map[string]*Access{"another page": elsewhere, "another form": w.as(editor, "named-once")} {
		_, err := a.Get(t.Context(), sub.ID)
		w.wants("get under "+what, err, "not found")
		_, err = a.Merge(t.Context(), sub.ID, answer("y"), nil, admitAll)
		w.wants("merge under "+what, err, "not found")
		w.wants("delete under "+what, a.Delete(t.Context(), sub.ID, nil), "not found")
	}
	_, err = w.as(editor, "named").Get(t.Context(), sub.ID)
	w.wants("get under its own", err, "ok")
}

func TestCreateRecordsWhoAndWhen(t *testing.T) {
	w := newWorld(t)
	sub := w.submits(owner, "named", "x")
	want := forms.Submission{
		ID: 1, PageID: 1, FormID: "named", Created: w.clock, Username: "owner", Changed: w.clock, Changer: "owner",
		Entries: forms.EncodeEntries(nil, []forms.Entry{{ID: 8193, FieldID: "text", Value: "x"}}),
	}
	testkit.Diff(t, "", sub, want)
	w.clock = w.clock.Add(time.Hour)
	merged, err := w.as(editor, "named").Merge(t.Context(), sub.ID, []forms.Answer{{FieldID: "n", Value: "5"}}, nil, admitAll)
	testkit.Must(t, err)
	want.Changed, want.Changer = w.clock, "editor"
	want.Entries = forms.EncodeEntries(nil, []forms.Entry{{ID: 8193, FieldID: "text", Value: "x"}, {ID: 8194, FieldID: "n", Value: "5"}})
	testkit.Diff(t, "an editor's change", merged, want)
}

func TestInvalidAnswersStoreNothing(t *testing.T) {
	w := newWorld(t)
	a := w.as(owner, "named-once")
	bad := []forms.Answer{{FieldID: "n", Value: "many"}}
	_, _, err := a.Create(t.Context(), bad, "")
	w.wants("create", err, `invalid map[n:must be a number such as 12 or -3.5 text:is required] []`)
	if ids := w.lists(w.as(editor, "named-once"), ListOptions{}); ids != nil {
		t.Errorf("stored: %v", ids)
	}
	sub := w.submits(owner, "named-once", "x") // the failed attempt did not use up the one submission
	_, err = a.Merge(t.Context(), sub.ID, bad, nil, admitAll)
	w.wants("merge", err, `invalid map[n:must be a number such as 12 or -3.5] []`)
	if got, err := a.Get(t.Context(), sub.ID); err != nil || !cmp.Equal(got, sub) {
		t.Errorf("after the failed merge: %+v, %v; want %+v", got, err, sub)
	}
}

func TestListOptions(t *testing.T) {
	w := newWorld(t)
	for _, who := range []auth.Identity{owner, viewer, owner, viewer, owner} {
		w.submits(who, "named", "x")
	}
	name := func(s string) *string { return &s }
	for _, tt := range []struct {
		what string
		who  auth.Identity
		opts ListOptions
		want []int64
	}{
		{"editor, all by id", editor, ListOptions{}, []int64{1, 2, 3, 4, 5}},
		{"editor, one user's", editor, ListOptions{Username: name("owner")}, []int64{1, 3, 5}},
		{"editor, user names are compared exactly", editor, ListOptions{Username: name("Owner")}, nil},
		{"editor, from the highest", editor, ListOptions{Descending: true, Limit: 2}, []int64{5, 4}},
		{"editor, second page", editor, ListOptions{After: 2, Limit: 2}, []int64{3, 4}},
		{"editor, second page from the highest", editor, ListOptions{After: 4, Descending: true, Limit: 2}, []int64{3, 2}},
		{"viewer, their own", viewer, ListOptions{}, []int64{2, 4}},
		{"viewer, asked by name", viewer, ListOptions{Username: name("viewer")}, []int64{2, 4}},
		{"viewer, another's", viewer, ListOptions{Username: name("owner")}, nil},
		{"viewer, the anonymous ones", viewer, ListOptions{Username: name("")}, nil},
		{"viewer, limited to their own", viewer, ListOptions{Limit: 1, Descending: true}, []int64{4}},
		{"viewer, second page", viewer, ListOptions{After: 2}, []int64{4}},
	} {
		testkit.Diff(t, tt.what, w.lists(w.as(tt.who, "named"), tt.opts), tt.want)
	}
	enough := errors.New("enough")
	err := w.as(editor, "named").List(t.Context(), ListOptions{}, func(forms.Submission) error { return enough })
	testkit.ErrorIs(t, "err", err, enough)
}

// A list that can't be looked up is no empty list, also where it would be empty.
func TestListWithoutStore(t *testing.T) {
	w := newWorld(t)
	testkit.Must(t, w.store.Close())
	for _, username := range []string{"viewer", "owner", ""} {
		err := w.as(viewer, "named").List(t.Context(), ListOptions{Username: &username}, func(forms.Submission) error { return nil })
		testkit.Same(t, username, outcome(err), "unavailable")
	}
}

func TestOneSubmission(t *testing.T) { enginetest.Each(t, testOneSubmission) }

func testOneSubmission(t *testing.T, on enginetest.Engine) {
	const taken = `invalid map[] ["this form takes one submission from each person, and yours is already there"]`
	for _, id := range []string{"named-once", "anonymous-once"} {
		t.Run(id, func(t *testing.T) {
			w := newWorldOn(t, on)
			first := w.submits(owner, id, "x")
			_, _, err := w.as(owner, id).Create(t.Context(), answer("again"), "")
			w.wants("a second one", err, taken)
			w.wants("a second one, only checked", w.as(owner, id).ValidateNew(t.Context(), answer("again"), ""), taken)
			w.wants("another person's, only checked", w.as(viewer, id).ValidateNew(t.Context(), answer("x"), ""), "ok")
			w.submits(viewer, id, "another person's")
			w.submits(owner, "anonymous-too", "to another form")
			w.submits(owner, "named", "to a form without the limit")
			w.submits(owner, "named", "and again")
			w.page.Form("named").OneSubmission = true // what is there counts
			_, _, err = w.as(owner, "named").Create(t.Context(), answer("again"), "")
			w.wants("a limit that was set later", err, taken)

			w.wants("delete", w.as(editor, id).Delete(t.Context(), first.ID, nil), "ok")
			second := w.submits(owner, id, "free again")
			if second.ID <= first.ID {
				t.Errorf("id %d came back as %d", first.ID, second.ID)
			}
			_, _, err = w.as(owner, id).Create(t.Context(), answer("again"), "")
			w.wants("a second one after the delete", err, taken)
		})
	}
}

// admitAll is for merges of any size.
func admitAll(int) error { return nil }

// What is not admitted changes nothing.
func TestMergeAsksBeforeItChangesAnything(t *testing.T) {
	w := newWorld(t)
	a := w.as(editor, "named")
	sub, _, err := a.Create(t.Context(), answer("old"), "")
	testkit.Must(t, err)
	full := errors.New("no room for the answer")
	testkit.ErrorIs(
		t, "merge", testkit.ErrorOf(a.Merge(t.Context(), sub.ID, answer("new"), nil, func(int) error { return full })), full,
	)
	after, err := a.Get(t.Context(), sub.ID)
	if err != nil || string(after.Entries) != string(sub.Entries) {
		t.Errorf("stored is %s, %v; want %s", after.Entries, err, sub.Entries)
	}
}
