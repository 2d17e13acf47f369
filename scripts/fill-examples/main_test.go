package main

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/sqlite"
	"github.com/formulary/formulary/internal/testkit"
)

const source = "../../examples/pages"

// result has the submissions of a form, by ascending ids, and the form as alice sees it.
type result struct {
	*service.Access
	service.Availability
	submissions []forms.Submission
	values      []map[string]string
	histories   [][]forms.Step
}

// filled is what run makes at some time, by form.
func filled(t *testing.T, now time.Time) map[string]*result {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	_, err := run(t.Context(), source, dir, now)
	testkit.Must(t, err)
	site, err := pages.OpenDirectory(filepath.Join(dir, "pages"), nil, slog.New(slog.DiscardHandler))
	testkit.Must(t, err)
	engine, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	testkit.Must(t, err)
	defer func() { testkit.Must(t, engine.Close()) }()
	svc := service.New(service.Options{Pages: site, Store: engine, Now: func() time.Time { return now }})
	results := map[string]*result{}
	for id, page := range map[string]int64{
		"feedback": 101, "leave": 102, "ballot": 103, "registration": 104, "helpers": 104, "office": 105,
	} {
		results[id] = read(t, svc, engine, page, id)
	}
	return results
}

func read(t *testing.T, svc *service.Service, engine store.Engine, page int64, id string) *result {
	t.Helper()
	access, err := svc.Form(t.Context(), auth.Identity{Name: "alice"}, page, id)
	testkit.Must(t, err)
	r := &result{Access: access}
	r.Availability, err = access.Availability(t.Context())
	testkit.Must(t, err)
	query := store.Query{PageID: page, FormID: id, Changes: true}
	testkit.Must(t, testkit.Each(engine.Scan(t.Context(), query), func(sub forms.Submission) error {
		sub.Entries = slices.Clone(sub.Entries)
		r.submissions = append(r.submissions, sub)
		return nil
	}))
	for _, sub := range r.submissions {
		values, err := sub.Values()
		testkit.Must(t, err)
		history, err := access.History(t.Context(), sub)
		testkit.Must(t, err)
		r.values, r.histories = append(r.values, values), append(r.histories, history)
	}
	return r
}

// at are times of the day and days of the year that are not like others.
var at = []string{
	"2027-01-01T00:00:00Z", "2026-12-31T23:59:59Z", "2028-02-29T12:00:00+14:00", "2027-06-30T03:00:00-11:00",
}

// Nothing was sent or changed in the future, or more than four months ago. Ids ascend with time.
func TestTimes(t *testing.T) {
	t.Parallel()
	for _, text := range at {
		now, err := time.Parse(time.RFC3339, text)
		testkit.Must(t, err)
		oldest, byID := now, map[int64]time.Time{}
		for id, r := range filled(t, now) {
			for i, sub := range r.submissions {
				last := sub.Created
				for _, step := range r.histories[i] {
					if step.At.Before(last) {
						t.Errorf("%s: %s: a change at %s, after %s", text, id, step.At, last)
					}
					last = step.At
				}
				if sub.Created.Before(now.AddDate(0, -4, 0)) || last.After(now) {
					t.Errorf("%s: %s: %s to %s", text, id, sub.Created, last)
				}
				if byID[sub.ID] = sub.Created; sub.Created.Before(oldest) {
					oldest = sub.Created
				}
			}
		}
		if oldest.After(now.AddDate(0, -3, -20)) {
			t.Errorf("%s: the oldest submission is of %s", text, oldest)
		}
		times := []time.Time{}
		for _, id := range slices.Sorted(maps.Keys(byID)) {
			times = append(times, byID[id])
		}
		if !slices.IsSortedFunc(times, time.Time.Compare) || len(times) < 200 || len(times) > 260 {
			t.Errorf("%s: %v", text, times)
		}
	}
}

// One form is nearly full, one closes this week, one is closed. Alice can send the others.
func TestStatesOfForms(t *testing.T) {
	t.Parallel()
	for _, text := range at[2:] {
		now, err := time.Parse(time.RFC3339, text)
		testkit.Must(t, err)
		for id, r := range filled(t, now) {
			if nearlyFull := r.Left > 0 && r.Left < 5; nearlyFull != (id == "registration") {
				t.Errorf("%s: %s: %d are left", text, id, r.Left)
			}
			if !r.Closes.IsZero() && r.Closes.After(now) != (id == "ballot") || r.Closes.After(now.AddDate(0, 0, 7)) {
				t.Errorf("%s: %s closes at %s", text, id, r.Closes)
			}
			if (r.Reason != nil) != (id == "helpers") {
				t.Errorf("%s: %s: %s", text, id, r.Reason)
			}
			sent := slices.ContainsFunc(r.submissions, func(sub forms.Submission) bool { return sub.Username == "alice" })
			if !r.Rights.Edit || sent && r.Form.OneSubmission {
				t.Errorf("%s: %s: alice has rights %+v, and has sent: %t", text, id, r.Rights, sent)
			}
		}
	}
}

// Requests are decided, by alice and carol, and never their own. Some are still open.
// Some decisions were changed, and some requests, by their senders.
func TestHistories(t *testing.T) {
	t.Parallel()
	leave := filled(t, time.Now())["leave"]
	states, changers, reversed, senders := map[string]int{}, map[string]int{}, 0, 0
	for i, steps := range leave.histories {
		states[leave.values[i]["state"]]++
		decisions := 0
		for _, step := range steps {
			switch sender := step.Username == leave.submissions[i].Username; {
			case step.Changes[0].FieldID != "state" && sender:
				senders++
			case step.Changes[0].FieldID == "state" && !sender:
				changers[step.Username]++
				decisions++
			default:
				t.Errorf("%s changed %v", step.Username, step.Changes)
			}
		}
		if decisions > 1 {
			reversed++
		}
	}
	if states["open"] < 2 || states["granted"] < 20 || states["refused"] < 5 || len(states) != 3 {
		t.Errorf("states: %v", states)
	}
	if changers["alice"] < 10 || changers["carol"] < 10 || len(changers) != 2 || reversed == 0 || senders == 0 {
		t.Errorf("decisions by %v, %d reversed; %d changes by senders", changers, reversed, senders)
	}
}

// The answers to each question differ, in both languages of a form. Only their dates
// differ from one time to the next. The first is what docs/api.md changes.
func TestAnswers(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 3, 1, 8, 0, 0, 0, time.UTC)
	first, second := filled(t, now), filled(t, now.AddDate(0, 5, 17))
	for id, r := range first {
		different := map[string]map[string]bool{}
		for i, values := range r.values {
			testkit.Same(t, "sender", r.submissions[i].Username, second[id].submissions[i].Username)
			for field, value := range values {
				if different[field] == nil {
					different[field] = map[string]bool{}
				}
				different[field][value] = true
				if r.Form.Field(field).Validation != forms.DateOnly {
					testkit.Same(t, field, second[id].values[i][field], value)
				}
			}
		}
		for _, q := range r.Form.Fields {
			if n := len(different[q.ID]); q.Type != forms.File && n < 3 && (n == 0 || n < len(q.Options)) {
				t.Errorf("%s: the answers to %s are %v", id, q.ID, different[q.ID])
			}
		}
		inGerman := func(text string) bool { return different["improve"][text] }
		if german := slices.ContainsFunc(texts["improve.de"], inGerman); german != (id == "office") {
			t.Errorf("%s: German: %t", id, german)
		}
	}
	testkit.Same(t, "first submission", first["feedback"].submissions[0].ID, 1)
}

// The folder is there when it is complete, and begun again after an interruption. A
// store that is there already stays as it is.
func TestWholeOrNot(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	stale := filepath.Join(dir+".new", "pages", "200-old.md")
	testkit.WriteFile(t, stale, "old")
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := run(ended, source, dir, time.Now())
	if _, missing := os.Stat(dir); err == nil || missing == nil {
		t.Errorf("%v, %v", err, missing)
	}
	count, err := run(t.Context(), source, dir, time.Now())
	testkit.Must(t, err)
	if found, err := filepath.Glob(dir + "*/pages/*"); err != nil || count == 0 || len(found) != 5 {
		t.Errorf("%d answers, %v: %v", count, err, found)
	}
	testkit.Must(t, os.RemoveAll(filepath.Join(dir, "pages")))
	count, err = run(t.Context(), source, dir, time.Now())
	testkit.Must(t, err)
	if found, err := filepath.Glob(dir + "*/pages/*"); err != nil || count != 0 || len(found) != 5 {
		t.Errorf("%d answers, %v: %v", count, err, found)
	}
}
