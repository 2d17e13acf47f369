package web

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

const visit = "/page/1/form/visit"

// visitPage has questions that show for the rating 1 only.
var visitPage = map[string]string{"1-visit.md": `---
title: Visit
---
` + "```yaml form" + `
form: visit
fields:
  - {id: rating, type: dropdown, label: Rating, required: true, options: [1, 2]}
  - {id: note, type: textbox, label: Note}
  - {id: paper, type: file, label: Paper}
  - {id: reason, type: textfield, label: Reason, showIf: {field: rating, equals: 1}}
  - {id: days, type: checkbox, label: Days, options: [Mon, Tue], showIf: {field: rating, equals: 1}}
` + "```\n"}

// newVisit stores a submission with answers to questions that are hidden now,
// and returns its path.
func newVisit(t *testing.T, b *browser) string {
	t.Helper()
	p := b.send(visit, with(b.get(visit).values(), "rating", "1", "reason", "because", "days", "Mon"), chosenFile{"paper", "a.txt", "x"})
	path := p.submission()
	b.fill(path+"/change", "rating", "2").want(200, "The changes are saved")
	return path
}

// shownAgain are the ways in which a form comes back before it is saved.
var shownAgain = map[string]func(e *env, b *browser, path string, values url.Values) *answer{
	"update": func(_ *env, b *browser, path string, values url.Values) *answer {
		return b.send(path, with(values, "_update", "1"))
	},
	"refusal": func(_ *env, b *browser, path string, values url.Values) *answer {
		p := b.send(path, with(values, "rating", ""))
		p.want(422, "“Rating” is required")
		return b.send(path, with(p.values(), "rating", values.Get("rating"), "_update", "1"))
	},
	"conflict": func(_ *env, b *browser, path string, values url.Values) *answer {
		b.fill(path, "note", "other").want(200)
		p := b.send(path, values)
		p.want(409)
		return b.send(path, with(p.values(), "note", "", "_update", "1"))
	},
	"sign-in": func(e *env, b *browser, path string, values url.Values) *answer {
		e.Clock.Advance(13 * time.Hour)
		p := b.send(path, values)
		p.want(403, "not signed in any more")
		return b.send(path, p.signedInAgain())
	},
	"save": nil,
}

// A question that a page does not show is not changed by it, and shows what is
// stored when it comes back. The tick that removes a file is still there, too.
func TestChangeKeepsHiddenAnswers(t *testing.T) {
	for name, again := range shownAgain {
		t.Run(name, func(t *testing.T) {
			e, b := newAlice(t, visitPage)
			path := newVisit(t, b) + "/change"
			e.wantStored("visit", "rating", "2", "reason", "because", "days", "Mon", "paper", "a.txt")
			values := b.get(path).values()
			if values.Has("_remove") {
				t.Error("the file is to go at first")
			}
			values = with(values, "rating", "1", "_remove", "paper/a.txt")
			if again != nil {
				p := again(e, b, path, values)
				p.want(200)
				p.wantValues("reason", "because", "days", "Mon")
				values = p.values()
			}
			b.send(path, values).want(200, "The changes are saved")
			e.wantStored("visit", "rating", "1", "reason", "because", "days", "Mon", "paper", "", "note", "")

			// Nothing ticked is an answer where the question is shown.
			values = b.get(path).values()
			delete(values, "days")
			p := b.send(path, with(values, "_update", "1"))
			p.wantValues("days", "")
			b.send(path, p.values()).want(200, "The changes are saved")
			e.wantStored("visit", "days", "")
		})
	}
}

// content is that of a stored file.
func (b *browser) content(path, name string) string {
	b.t.Helper()
	p := b.get(strings.TrimSuffix(path, "/change") + "/file/paper/" + url.PathEscape(name))
	p.want(200)
	return p.body
}

// Files that are chosen on a change are added. Each stored one can be removed by itself.
func TestChosenFilesAreAdded(t *testing.T) {
	e, b := newAlice(t, visitPage)
	path := newVisit(t, b) + "/change"
	save := func(want string, remove []string, files ...chosenFile) {
		t.Helper()
		values := b.get(path).values()
		values["_remove"] = remove
		b.send(path, values, files...).want(200, "The changes are saved")
		e.wantStored("visit", "paper", want)
	}
	save("a.txt;b.txt", nil, chosenFile{"paper", "b.txt", "y"})
	save("a.txt;b.txt;a (2).txt", nil, chosenFile{"paper", "a.txt", "z"})
	testkit.Same(t, "the files", b.content(path, "a.txt")+b.content(path, "b.txt")+b.content(path, "a (2).txt"), "xyz")
	b.get(path).wantHTML(`name="_remove" value="paper/a (2).txt">`, `Remove<span class="visually-hidden"> a (2).txt</span>`)
	save("a.txt;b.txt", []string{"paper/a (2).txt", "paper/unknown", "note/a.txt"})
	save("b.txt;a.txt", []string{"paper/a.txt"}, chosenFile{"paper", "a.txt", "new"})
	testkit.Same(t, "the new file holds", b.content(path, "a.txt"), "new")
	save("", []string{"paper/a.txt", "paper/b.txt"})
	save("c.txt", nil, chosenFile{"paper", "c.txt", "c"})
}

// Names that were sent by the API without a file are not lost, and not touched.
func TestChosenFilesKeepNames(t *testing.T) {
	e, b := newAlice(t, visitPage)
	e.submit("alice", 1, "visit", "rating", "2", "paper", "on my desk;;b")
	const path = visit + "/submission/1/change"
	values := b.get(path).values()
	b.send(path, values).want(200)
	e.wantStored("visit", "rating", "2", "paper", "on my desk;;b")
	b.send(path, b.get(path).values(), chosenFile{"paper", "b", "y"}).want(200)
	e.wantStored("visit", "paper", "on my desk;;b;b (2)")
}

// More files than a question may have are refused, and the form comes back as it was.
func TestTooManyFiles(t *testing.T) {
	e, b := newAlice(t, visitPage)
	path := newVisit(t, b) + "/change" // with one file
	files := func(count int) (list []chosenFile) {
		for i := range count {
			list = append(list, chosenFile{"paper", fmt.Sprint(i), "x"})
		}
		return list
	}
	const refusal = "“Paper” may have at most 10 files"
	for _, count := range []int{10, 11, 20} { // together with the stored one, or by themselves
		p := b.send(path, with(b.get(path).values(), "note", "typed"), files(count)...)
		p.want(422, refusal)
		p.wantValues("note", "typed")
		p.wantHTML(`value="paper/a.txt">`)
	}
	p := b.send(visit, with(b.get(visit).values(), "rating", "1", "note", "typed"), files(11)...)
	p.want(422, refusal)
	e.wantStored("visit", "paper", "a.txt")
	p.wantValues("note", "typed")
	b.send(path, with(b.get(path).values(), "_remove", "paper/a.txt"), files(10)...).want(200, "The changes are saved")
}

// Conditions see the files that are left when the boxes beside the others are ticked.
func TestConditionsOfRemovedFiles(t *testing.T) {
	_, b := newAlice(t, page1("", `form: f
fields:
  - {id: paper, type: file, label: Paper}
  - {id: why, type: textfield, label: Why is it missing?, showIf: {field: paper, empty: true}}
`))
	p := b.send(leavePath, b.get(leavePath).values(), chosenFile{"paper", "a.txt", "x"})
	path := p.submission() + "/change"
	p = b.get(path)
	testkit.Same(t, "the question is hidden at first", hidden(p, "why"), true)
	p = b.send(path, with(p.values(), "_remove", "paper/a.txt", "_update", "1"))
	testkit.Same(t, "the question is hidden", hidden(p, "why"), false)
	b.send(path, with(p.values(), "why", "lost")).want(200, "The changes are saved", "lost")
}

// After a conflict the page shows what the next "Save" would replace, and
// nothing else.
func TestConflictShowsWhatSaveReplaces(t *testing.T) {
	const same = "The form below shows what is stored now."
	addFile := func(_ *env, b *browser, path string) {
		b.send(path, b.get(path).values(), chosenFile{"paper", "b.txt", "y"}).want(200)
	}
	for _, tt := range []struct {
		name   string
		theirs func(e *env, b *browser, path string)
		yours  []string // pairs
		file   string   // that is chosen
		want   []string
	}{
		{"another file", addFile, nil, "", nil},
		{"two files", addFile, nil, "c.txt", []string{"Paper|a.txt;b.txt|a.txt;b.txt;c.txt"}},
		{"a file to remove", addFile, []string{"_remove", "paper/a.txt"}, "", []string{"Paper|a.txt;b.txt|b.txt"}},
		{"a text", func(_ *env, b *browser, path string) {
			b.fill(path, "note", "theirs").want(200)
		}, []string{"note", "yours"}, "", []string{"Note|theirs|yours"}},
		{"line ends", func(e *env, _ *browser, _ string) {
			access, err := e.site.Backend.Service.Form(t.Context(), auth.Identity{Name: "alice"}, 1, "visit")
			testkit.Must(t, err)
			answers := []forms.Answer{{FieldID: "note", Value: "two\r\nlines"}}
			testkit.Must(t, testkit.ErrorOf(access.Merge(t.Context(), 1, answers, nil, func(int) error { return nil })))
		}, []string{"note", "two\r\nlines"}, "", nil},
		{"another page", func(e *env, _ *browser, _ string) {
			text := strings.Replace(visitPage["1-visit.md"], "fields:", "fields:\n  - {id: new, type: textfield, label: New}", 1)
			e.Write(t, "1-visit.md", text)
		}, nil, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, b := newAlice(t, visitPage)
			path := newVisit(t, b) + "/change"
			values := with(b.get(path).values(), tt.yours...)
			tt.theirs(e, b, path)
			var files []chosenFile
			if tt.file != "" {
				files = append(files, chosenFile{"paper", tt.file, "z"})
			}
			p := b.send(path, values, files...)
			p.want(409, "The submission or its form has changed since you opened it.")
			var got []string
			for _, row := range p.tableRows("both") {
				got = append(got, strings.Join(row, "|"))
			}
			if len(got) > 0 {
				got = got[1:] // without the head
			}
			testkit.Diff(t, "both versions", got, tt.want)
			testkit.Same(t, "the page says so", strings.Contains(p.text(), same), tt.want == nil)
		})
	}
}
