package service

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// addForm puts a form on page 1.
func (w *world) addForm(f *forms.Form) {
	f.PageID = 1
	w.page.Forms = append(w.page.Forms, f)
}

// Days are those of the zone, and fields of editors are theirs.
func TestRulesKnowDayAndEditor(t *testing.T) {
	w := newWorld(t)
	w.opts.Zone = time.FixedZone("UTC+13", 13*60*60) // the next day there
	state := &forms.Field{ID: "state", Type: forms.Textfield, ByEditors: true}
	w.addForm(&forms.Form{ID: "rules", Fields: []*forms.Field{
		{ID: "day", Type: forms.Date, Validation: forms.DateOnly, Default: forms.Today, Min: &forms.Bound{Value: forms.Today}}, state,
	}})
	a, e := w.as(owner, "rules"), w.as(editor, "rules")
	if a.Now().Format(time.DateOnly) != "2026-03-02" || a.MaySet(state) || !e.MaySet(state) {
		t.Errorf("today is %s, the owner may set: %v, an editor may: %v", a.Now(), a.MaySet(state), e.MaySet(state))
	}
	sub, _, err := a.Create(t.Context(), nil, "")
	w.wants("create", err, "ok")
	if entries, err := sub.Entries.Decode(); err != nil || len(entries) != 1 || entries[0].Value != "2026-03-02" {
		t.Errorf("stored %v, %v", entries, err)
	}
	granted := []forms.Answer{{FieldID: "state", Value: "granted"}}
	refused := "invalid map[state:" + forms.MsgByEditors.String() + "] []"
	w.wants("create by others", w.creates(a, granted, ""), refused)
	w.wants("merge by others", w.merges(a, sub.ID, "state", "granted"), refused)
	w.wants("validation for others", a.ValidateMerge(t.Context(), sub.ID, granted, nil), refused)
	w.wants("merge by an editor", w.merges(e, sub.ID, "state", "granted"), "ok")
}

// While a form is not open, creates are refused, and only editors update. The text says
// when.
func TestOpensAndCloses(t *testing.T) {
	at := func(text string) time.Time {
		t.Helper()
		moment, err := time.Parse(time.RFC3339, text)
		testkit.Must(t, err)
		return moment
	}
	moment := func(text string) forms.Moment {
		if strings.Contains(text, "T") {
			return forms.Moment{Time: at(text)}
		}
		return forms.Moment{Day: text}
	}
	for _, row := range testkit.Rows(strings.NewReplacer("EARLY", "this form is not open yet: it opens",
		"LATE", "this form has closed: it took submissions until").Replace(`
		the last moment before it opens | 2026-03-02 | | 2026-03-01T10:59:59Z | EARLY on 2026-03-02 (UTC+13)
		the day begins in the zone | 2026-03-02 | | 2026-03-01T11:00:00Z |
		the last moment of the day | | 2026-03-02 | 2026-03-02T10:59:59Z |
		the day has ended | | 2026-03-02 | 2026-03-02T11:00:00Z | LATE the end of 2026-03-02 (UTC+13)
		one day | 2026-03-02 | 2026-03-02 | 2026-03-02T00:00:00Z |
		not yet at a time | 2026-03-02T09:00:00Z | | 2026-03-02T08:59:59Z | EARLY on 2026-03-02 22:00:00 (UTC+13)
		at a time | | 2026-03-02T09:00:00Z | 2026-03-02T09:00:00Z | LATE 2026-03-02 22:00:00 (UTC+13)
	`)) {
		t.Run(row[0], func(t *testing.T) {
			reason := row[4]
			w := newWorld(t)
			w.opts.Zone = time.FixedZone("UTC+13", 13*60*60)
			before := w.submits(owner, "named", "before")
			w.page.Forms[0].Opens, w.page.Forms[0].Closes = moment(row[1]), moment(row[2])
			w.clock = at(row[3])
			a := w.as(owner, "named")
			if v, err := a.Availability(t.Context()); err != nil || v.Reason.String() != reason {
				t.Errorf("available: %+v, %v", v, err)
			}
			create, update := "ok", "ok"
			if reason != "" {
				create = `invalid map[] ["` + reason + `"]`
				update = `invalid map[] ["` + reason + `. Only editors of this page may change submissions now"]`
			}
			for _, answers := range [][]forms.Answer{answer("new"), nil} {
				if reason == "" && answers == nil {
					continue
				}
				w.wants("create by an editor", w.creates(w.as(editor, "named"), answers, ""), create)
				w.wants("validation of a create", a.ValidateNew(t.Context(), answers, ""), create)
			}
			w.wants("update", w.merges(a, before.ID, "text", "changed"), update)
			w.wants("validation of an update", a.ValidateMerge(t.Context(), before.ID, answer("changed"), nil), update)
			w.wants("update at all", a.MayMerge(t.Context(), before.ID, nil), update)
			w.wants("update by an editor", w.merges(w.as(editor, "named"), before.ID, "text", "corrected"), "ok")
		})
	}
}

// The limit is told after what is wrong with the submission itself, by writes and by
// validations alike.
func TestFullForm(t *testing.T) {
	w := newWorld(t)
	const full = `invalid map[] ["this form is full: it takes 1 submission"]`
	w.page.Forms[0].Limit = 1
	w.page.Forms[1].Limit = 1
	a, other := w.as(owner, "named"), w.as(editor, "named")
	w.wants("validation while there is room", a.ValidateNew(t.Context(), answer("x"), ""), "ok")
	stored, _, err := a.Create(t.Context(), answer("x"), "key")
	w.wants("create", err, "ok")
	w.wants("create", w.creates(other, answer("x"), ""), full)
	w.wants("create with a key", w.creates(other, answer("x"), "key"), full)
	w.wants("validation", other.ValidateNew(t.Context(), answer("x"), ""), full)
	w.wants("create of what is invalid", w.creates(other, nil, ""), "invalid map[text:is required] []")
	if v, err := other.Availability(t.Context()); err != nil || !strings.Contains(v.Reason.String(), "full") {
		t.Errorf("available: %+v, %v", v, err)
	}
	for _, closes := range []string{"", "2026-02-28"} { // a repeat gets its submission after the form has closed, too
		w.page.Forms[0].Closes.Day = closes
		sub, replayed, err := w.as(owner, "named").Create(t.Context(), answer("x"), "key")
		if err != nil || !replayed || sub.ID != stored.ID {
			t.Errorf("a repeat: %d, %v, %v", sub.ID, replayed, err)
		}
	}
	w.page.Forms[0].Closes.Day = ""
	w.wants("update", w.merges(a, stored.ID, "text", "changed"), "ok")
	w.wants("delete", other.Delete(t.Context(), stored.ID, nil), "ok")
	w.submits(editor, "named", "x")

	w.submits(owner, "named-once", "x")
	const once = `invalid map[] ["this form takes one submission from each person, and yours is already there"]`
	w.wants("validation of a second one", w.as(owner, "named-once").ValidateNew(t.Context(), answer("x"), ""), once)
	w.wants("validation of another's", w.as(editor, "named-once").ValidateNew(t.Context(), answer("x"), ""), full)
}

// A submission keeps who changed it last, and when. A merge that changes nothing is no
// change.
func TestLastChange(t *testing.T) { enginetest.Each(t, testLastChange) }

func testLastChange(t *testing.T, on enginetest.Engine) {
	w := newWorldOn(t, on)
	made := w.clock
	named, nobody := w.submits(owner, "named", "x"), w.submits(owner, "anonymous", "x")
	changes := func(what string, who *Access, sub forms.Submission, value string, at time.Time, by string) {
		t.Helper()
		merged, err := who.Merge(t.Context(), sub.ID, answer(value), nil, admitAll)
		w.wants(what, err, "ok")
		read, err := who.Get(t.Context(), sub.ID)
		w.wants(what, err, "ok")
		for _, s := range []forms.Submission{merged, read} {
			if !s.Changed.Equal(at) || s.Changer != by || !s.Created.Equal(made) || s.Username != sub.Username {
				t.Errorf("%s: changed by %q at %v, want by %q at %v", what, s.Changer, s.Changed, by, at)
			}
		}
	}
	w.clock = made.Add(time.Hour)
	changes("a merge that changes nothing", w.as(editor, "named"), named, "x", made, "owner")
	first := w.clock
	changes("a change by an editor", w.as(editor, "named"), named, "y", first, "editor")
	w.clock = first.Add(time.Hour)
	changes("another that changes nothing", w.as(owner, "named"), named, "y", first, "editor")
	changes("a change by the owner", w.as(owner, "named"), named, "z", w.clock, "owner")
	// Where all may edit, the editor may be the submitter: no name and no time is kept, but the day.
	changes("a change of an anonymous one", w.as(editor, "anonymous"), nobody, "y", w.clock.Truncate(24*time.Hour), "")

	other := w.submits(owner, "named", "created now")
	day := func(id string) query.List {
		rule, message := query.NewRule(id, "less-than", w.clock.Format(time.RFC3339Nano))
		if message != nil {
			t.Fatal(message)
		}
		return query.List{Filter: query.Filter{Rules: []forms.Rule{rule}}}
	}
	a := w.as(editor, "named")
	if got := w.lists(a, day("_timestamp")); !slices.Equal(got, []int64{named.ID}) {
		t.Errorf("created before: %v", got)
	}
	if got := w.lists(a, day("_changed")); got != nil {
		t.Errorf("changed before: %v", got)
	}
	w.clock = w.clock.Add(time.Hour)
	changes("a late change", w.as(editor, "named"), named, "late", w.clock, "editor")
	if got := w.lists(a, query.List{Sort: &query.Sort{ID: "_changed", Descending: true}, Limit: 10}); !slices.Equal(got, []int64{named.ID, other.ID}) {
		t.Errorf("the latest change first: %v", got)
	}
}
