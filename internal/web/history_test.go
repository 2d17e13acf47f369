package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/testkit"
)

// The answers of a question with several have the mark between them that the reader's language has.
func TestHistoryOfSeveralAnswers(t *testing.T) {
	_, b := newAlice(t, page1("", "form: f\nfields:\n  - {id: a, type: checkbox, options: [x, y, z]}\n"))
	path := b.fill("/page/1/form/f", "a", "x").submission()
	values := b.get(path + "/change").values()
	values["a"] = []string{"y", "z"}
	b.send(path+"/change", values)
	for tag, want := range map[string]string{"en": "<bdi>y</bdi>, <bdi>z</bdi>", "ja": "<bdi>y</bdi>、<bdi>z</bdi>", "ar": "<bdi>y</bdi>، <bdi>z</bdi>"} {
		b.get(path+"?lang="+tag).wantHTML("<del><bdi>x</bdi></del>", "<ins>"+want+"</ins>")
	}
}

// The page of a submission tells what was changed, the newest first, and whoever may edit can
// remove it. Package service decides who reads what.
func TestHistory(t *testing.T) {
	e := newEnv(t, page1("edit: [carol]\n", requestForm+"  - {id: why, type: textbox, label: Why}\n"))
	e.submit("alice", 1, "feedback", "name", "Ann")
	const path = "/page/1/form/feedback/submission/1"
	alice, carol := e.signedIn("alice"), e.signedIn("carol")
	alice.get(path).wantNoHTML("History")
	e.Clock.Advance(time.Minute)
	alice.fill(path+"/change", "name", "Anna").want(200, "NameAnn →became Anna")
	e.Clock.Advance(time.Minute)
	page := carol.send(carol.get(path + "?q=ann").pressed("Granted"))
	page.want(200, "1 question without an answer Why",
		"History 15 Nov 2025, 12:05 UTC carol StateNew →became Granted 15 Nov 2025, 12:04 UTC alice NameAnn →became Anna")
	page.wantNoHTML("Show all changes")
	mine := alice.get(path)
	mine.want(200, "StateNew →became Granted")
	mine.wantNoHTML("Remove earlier values")

	const remove = path + "/history"
	tag := with(page.values(), "x", "y")
	alice.postForm(remove, tag).want(403, "Only editors of this page may remove earlier values.")
	alice.fill(path+"/change", "name", "Ann Other")
	carol.postForm(remove, tag).want(409, "Look at its history once more.")
	page = carol.postForm(remove+"?q=ann", carol.get(path).values())
	page.want(200, "History 15 Nov 2025, 12:05 UTC carol Earlier values were removed.")
	page.wantNoHTML("Anna", "Remove earlier values")
	testkit.Same(t, "after it one is at", page.path, path+"?q=ann")
}

// A page shows a part of a long history, and all that is long of it on another page.
func TestHistoryBounds(t *testing.T) {
	file := &forms.Field{ID: "file", Type: forms.File, Label: "File"}
	form := &forms.Form{Fields: []*forms.Field{{ID: "a", Type: forms.Textbox, Label: "A"}, file}}
	step := func(id, before, after string) forms.Step {
		return forms.Step{Changes: []forms.ValueChange{{FieldID: id, Before: before, After: after}}}
	}
	repeat := func(count int, s forms.Step) (steps []forms.Step) {
		for range count {
			steps = append(steps, s)
		}
		return steps
	}
	wide := forms.Step{}
	for i := range 1000 {
		wide.Changes = append(wide.Changes, forms.ValueChange{FieldID: fmt.Sprint("f", i), After: strings.Repeat("x", 200)})
	}
	same := strings.Repeat("ä", 400)
	words := strings.Repeat("word ", 80)
	newest := historyBounds{steps: 20, value: 300, total: 1 << 20}
	for name, test := range map[string]struct {
		steps  []forms.Step
		bounds historyBounds
		want   string // steps, changes, whether there is more, and the last change
	}{
		"one":              {repeat(1, step("a", "x", "y")), newest, "1 1 false A: x → y"},
		"many":             {append(repeat(20, step("a", "x", "y")), step("a", "y", "z")), newest, "20 20 true A: x → y"},
		"all":              {repeat(1000, step("a", "x", "y")), historyBounds{1000, 9, 1 << 20}, "1000 1000 false A: x → y"},
		"long":             {repeat(1, step("a", "", strings.Repeat("x", 301))), newest, "1 1 true A:  → " + strings.Repeat("x", 300) + "…"},
		"a long one's end": {repeat(1, step("a", same, same+"y")), newest, "1 1 true A: …" + same[:40] + " → …" + same[:40] + "y"},
		"the end of words": {
			repeat(1, step("a", words+"x", words+"y")), newest,
			"1 1 true A: …word word word word word word word x → …word word word word word word word y",
		},
		"wide":          {append(repeat(9, step("a", "x", "y")), wide), historyBounds{20, 300, 5000}, "1 10 true f9:  → " + strings.Repeat("x", 200)},
		"left the page": {repeat(1, step("gone", "x", "")), newest, "1 1 false gone: x → "},
		"removed":       {repeat(1, forms.Step{}), newest, "1 0 false "},
		"other content": {repeat(1, step("file", "a.pdf;b.pdf", "a.pdf;b.pdf")), newest, "1 1 false File: a.pdf;b.pdf → a.pdf;b.pdf same"},
	} {
		v := &historyView{}
		v.add(lang.Find("en"), form, test.steps, test.bounds)
		changes, last := 0, ""
		for _, s := range v.Steps {
			for _, a := range s.Answers {
				changes++
				last = a.After.Label + ": " + a.Before.Value + " → " + a.After.Value
				if a.Same {
					last += " same"
				}
			}
		}
		testkit.Same(t, name, fmt.Sprint(len(v.Steps), " ", changes, " ", v.Cut, " ", last), test.want)
	}
}

// The whole of a value is one link away. The largest history fits on a page, with an answer whose
// characters are all escaped.
func TestLargestHistory(t *testing.T) {
	e := newEnv(t, page1("", "form: feedback\nfields:\n  - {id: a, type: textbox, label: A}\n"))
	e.submit("alice", 1, "feedback", "a", strings.Repeat(`"`, 900_000))
	access, err := e.site.Backend.Service.Form(t.Context(), e.Users.Identity("carol"), 1, "feedback")
	testkit.Must(t, err)
	for i := range 30 {
		value := strings.Repeat(`"`, 20_000) + fmt.Sprint("change ", i)
		if i == 29 {
			value = strings.Repeat(`"`, 1_000_000)
		}
		answers := []forms.Answer{{FieldID: "a", Value: value}}
		if _, err := access.Merge(t.Context(), 1, answers, nil, func(int) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	page := e.get("alice", "/page/1/form/feedback/submission/1")
	page.want(200, "change 28 →", "Show all changes in full")
	all := e.get("alice", page.link("Show all changes in full"))
	all.want(200, "change 28", "There is more, which the API can tell.")
	if got := len(all.body) - len(page.body); got < 100_000 || got > 1<<20 {
		t.Errorf("the whole history has %d bytes more", got)
	}
}
