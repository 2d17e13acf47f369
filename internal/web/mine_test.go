package web

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/testkit"
)

// A submission is known by its first short answers. Files, states and what editors
// answer tell nothing.
func TestShortAnswers(t *testing.T) {
	f := &forms.Form{Fields: []*forms.Field{
		{ID: "file", Type: forms.File},
		{ID: "state", Type: forms.Status},
		{ID: "note", Type: forms.Textfield, ByEditors: true},
		{ID: "text", Type: forms.Textbox},
		{ID: "days", Type: forms.Checkbox, Labels: map[string]string{"mo": "Monday"}},
		{ID: "a", Type: forms.Textfield},
		{ID: "b", Type: forms.Textfield},
	}}
	long := strings.Repeat("é", maxShortAnswer)
	hidden := map[string]string{"file": "x.pdf", "state": "New", "note": "hm"}
	for _, tt := range []struct {
		text, days, a, b string
		want             []string
	}{
		{"", "", "", "", nil},
		{"two\nlines", "mo;tu", "x;y", "", []string{"Monday, tu", "x;y"}},
		{long, "", "", "z", []string{long, "z"}},
		{long + "e", "", "", "z", []string{"z"}},
		{"1", "2", "3", "4", []string{"1", "2", "3"}},
	} {
		hidden["text"], hidden["days"], hidden["a"], hidden["b"] = tt.text, tt.days, tt.a, tt.b
		var got []string
		for _, words := range shortAnswers(lang.Find("de"), f, "", hidden) {
			got = append(got, words.Label)
		}
		testkit.Diff(t, tt, got, tt.want)
	}
}

// Rows offer what their submitter may do with them. The way leads back to the list.
func TestMyRows(t *testing.T) {
	const list = "/page/1/form/f/results"
	form := "form: f\nwithdraw: true\ncloses: 2025-11-15\nlockIf: {field: state, equals: Done}\nfields:\n" +
		"  - {id: a, type: textfield}\n  - {id: state, type: status, label: State, options: [New, Done], by: editors}\n"
	e, b := newAlice(t, page1("edit: [carol]\n", form))
	e.submit("alice", 1, "f", "a", "first")
	e.submit("alice", 1, "f")
	e.submit("carol", 1, "f", "a", "of an editor", "state", "Done")
	rows := func(want ...string) {
		t.Helper()
		var got []string
		for _, row := range b.get(list + "?limit=9").mine() {
			got = append(got, row[1])
		}
		testkit.Diff(t, "cmp.Diff(want, got)", got, want)
	}
	rows("Sent on 15 Nov 2025, 12:03 UTC 15 Nov 2025, 12:03 UTC Change Sent on 15 Nov 2025, 12:03 UTC Withdraw Sent on 15 Nov 2025, 12:03 UTC",
		"first 15 Nov 2025, 12:03 UTC Change first Withdraw first")
	page := b.get(list + "?limit=9")
	for name, want := range map[string]string{"Change first": "/change?limit=9", "Withdraw first": "/delete?limit=9"} {
		testkit.Same(t, name, page.link(name), "/page/1/form/f/submission/1"+want)
	}
	carol := e.signedIn("carol")
	carol.fill("/page/1/form/f/submission/1/change", "state", "Done")
	e.Clock.Advance(12 * 3600e9) // it closes
	b = e.signedIn("alice")
	rows("Sent on 15 Nov 2025, 12:03 UTC 15 Nov 2025, 12:03 UTC Withdraw Sent on 15 Nov 2025, 12:03 UTC", "first State Done 15 Nov 2025, 12:03 UTC")
	const closed = "This form has closed: it took submissions until the end of 15 Nov 2025 (UTC). Only editors of this page may change submissions now."
	b.get("/page/1/form/f/submission/2").want(200, closed)
	b.get("/page/1/form/f/submission/1").wantNoHTML(closed) // it is locked, which is said
	carol.get("/page/1/form/f/submission/2").wantNoHTML(closed)
}
