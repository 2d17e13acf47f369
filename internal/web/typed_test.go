package web

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// readOnly are the texts that a page shows to be copied, by label.
func (a *answer) readOnly() map[string]string {
	texts := map[string]string{}
	for _, n := range a.find("textarea[readonly]") {
		for _, label := range a.find(`label[for="` + attribute(n, "id") + `"]`) {
			texts[textOf(label)] = rawText(n)
		}
		if hasAttribute(n, "name") {
			a.t.Errorf("%s: the text of %s would be sent", a.path, attribute(n, "id"))
		}
	}
	return texts
}

// A form that is anonymous when it is opened, and is not when it is sent, stores
// no name without asking. The other way round it asks as well.
func TestPromiseOfAnonymity(t *testing.T) {
	anonymous := "---\ntitle: Idea\n---\n```form\nform: idea\nanonymous: true\nfields:\n  - {id: text, type: textbox, label: Text}\n  - {id: doc, type: file, label: Document}\n```\n"
	named := strings.Replace(anonymous, "anonymous: true", "anonymous: false", 1)
	const form = "/page/1/form/idea"
	for _, tt := range []struct{ name, before, after, notice string }{
		{"becomes named", anonymous, named, "was anonymous when you opened it, and is not any more"},
		{"becomes anonymous", named, anonymous, "has become anonymous since you opened it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEnv(t, map[string]string{"1-idea.md": tt.before})
			stored := func() (n int) {
				err := testkit.Each(e.Store.Scan(t.Context(), store.Query{PageID: 1, FormID: "idea"}), func(forms.Submission) error { n++; return nil })
				testkit.Must(t, err)
				return n
			}
			b := e.signedIn("alice")
			typed := with(b.get(form).values(), "text", "long work")
			e.Write(t, "1-idea.md", tt.after)
			p := b.send(form, typed, chosenFile{"doc", "a.txt", "x"})
			if !b.last().anonymous {
				t.Error("not anonymous in the log")
			}
			p.want(409, "There is a problem", tt.notice, "Nothing was sent", "Choose the file again: a.txt was not stored.")
			p.wantValues("text", "long work")
			testkit.Same(t, "stored", stored(), 0)
			e.Clock.Advance(13 * time.Hour)
			p = b.send(form, typed)
			p = b.send(form, p.signedInAgain())
			p.want(200, tt.notice, "You are signed in again")
			b.send(form, p.values()).want(200)
			testkit.Same(t, "stored after the second time", stored(), 1)
			typed = with(typed, "text", "other work")
			delete(typed, promiseControl) // a page that has promised nothing
			b.send(form, typed).want(200)
			testkit.Same(t, "stored", stored(), 2)
		})
	}
}

// withoutMail is the survey after its question "E-mail" was removed.
var withoutMail = strings.Replace(wiki["1-survey.md"], "  - {id: mail, type: textfield, label: E-mail, validate: email}\n", "", 1)

// A question leaves the form while somebody fills it in: what they have typed is
// shown under its label, and all else is there to be sent.
func TestQuestionLeavesTheForm(t *testing.T) {
	e, b := newAlice(t, wiki)
	typed := with(b.get(survey).values(), "comment", "c", "mail", "a long\r\naddress", "day", "never")
	withoutAnswer := with(typed, "mail", "", "day", "")
	e.Write(t, "1-survey.md", strings.Replace(withoutMail, "id: paper,", "id: sheet,", 1))
	file := chosenFile{"paper", "a.txt", "x"}
	want := map[string]string{"E-mail": "a long\naddress", "Paper": "a.txt"}
	check := func(p *answer, status int) {
		t.Helper()
		p.want(status, "This question is no longer part of the form")
		testkit.Diff(t, "texts to copy", p.readOnly(), want)
		p.wantValues("comment", "c", "mail", "")
	}
	p := b.send(survey, typed, file)
	check(p, 422)
	summary, _ := p.errors()
	wantSummary := []string{
		"“E-mail” is no longer part of the form", "“Paper” is no longer part of the form",
		"“Day” must be a date such as 2026-01-31 (yyyy-MM-dd)",
	}
	slices.Sort(summary[:2])
	testkit.Diff(t, "summary", summary, wantSummary)
	again := with(p.values(), "day", "2026-01-31")
	check(b.send(survey, with(typed, "_update", "1"), file), 200)
	e.Clock.Advance(13 * time.Hour)
	p = b.send(survey, typed, file)
	p = b.send(survey, p.signedInAgain())
	check(p, 200)
	testkit.Same(t, "submissions", e.count("alice", 1, "survey"), 0)
	b.send(survey, again).want(200, "Sent", "31 Jan 2026")
	b.send(survey, withoutAnswer).want(200, "Sent")
}

// The same while a submission is changed. A stored answer that was not touched is
// not lost.
func TestQuestionLeavesTheChange(t *testing.T) {
	e, b := newAlice(t, wiki)
	p := b.fill(survey, "comment", "c", "mail", "a@example.org", "kind", "a")
	path := p.submission() + "/change"
	typed := with(b.get(path).values(), "comment", "new")
	e.Write(t, "1-survey.md", withoutMail)
	p = b.send(path, typed)
	p.want(409)
	testkit.Same(t, "texts to copy", len(p.readOnly()), 0)
	p = b.send(path, with(typed, "mail", "b@example.org"))
	p.want(409, "This question is no longer part of the form")
	testkit.Same(t, "the text to copy", p.readOnly()["E-mail"], "b@example.org")
	p.wantValues("comment", "new")
	b.send(path, p.values()).want(200, "The changes are saved", "new", "a@example.org")
}

// A submission is deleted while somebody changes it: what they have typed is shown
// as a form that can be sent.
func TestDeletedWhileItIsChanged(t *testing.T) {
	e := newEnv(t, wiki)
	alice, carol := e.signedIn("alice"), e.signedIn("carol")
	const form = "/page/2/form/once"
	remove := func(path string) {
		carol.postForm(path+"/delete", carol.get(path+"/delete").values()).want(200)
	}
	deleted := func(do func(path string, typed map[string][]string) *answer) {
		t.Helper()
		p := alice.fill(form, "text", "first")
		path := p.submission()
		p = do(path, with(alice.get(path+"/change").values(), "text", "long work"))
		p.want(404, "There is a problem", "was deleted since you opened it")
		testkit.Same(t, "submissions", e.count("alice", 2, "once"), 0)
		p.wantValues("text", "long work")
		p = alice.send(form, p.values())
		p.want(200, "Sent", "long work")
		remove(p.submission())
	}
	deleted(func(path string, typed map[string][]string) *answer {
		remove(path)
		return alice.send(path+"/change", typed)
	})
	for _, button := range []string{"", updateControl} { // while the body comes in
		deleted(func(path string, typed map[string][]string) *answer {
			if button != "" {
				typed[button] = []string{"1"}
			}
			body, contentType := multipartForm(t, typed)
			return alice.request(http.MethodPost, path+"/change", contentType, &lateBody{strings.NewReader(body), func() { remove(path) }})
		})
	}
	deleted(func(path string, typed map[string][]string) *answer { // and the session expires
		remove(path)
		alice.postForm("/logout", nil)
		p := alice.send(path+"/change", typed)
		return alice.send(path+"/change", p.signedInAgain())
	})
	e.signedIn("bob").send(form+"/submission/999/change", nil).want(409) // not a page of bob's
}

// A browser does not get back a file that was chosen. Its question says so when
// another answer is refused.
func TestFileIsToBeChosenAgain(t *testing.T) {
	_, b := newAlice(t, wiki)
	const again = "Choose the file again: a.txt was not stored."
	good := with(b.get(survey).values(), "comment", "c")
	file := chosenFile{"paper", "a.txt", "x"}
	b.send(survey, with(good, "mail", "no mail"), file).want(422, again)
	b.send(survey, with(good, "_update", "1"), file).want(200, again)
	p := b.send(survey, good, chosenFile{"paper", "a.exe", "x"})
	both := b.send(survey, good, file, chosenFile{"paper", "a.exe", "x"}, chosenFile{"paper", "b.exe", "x"})
	both.want(422, "and a.exe is something else", "and b.exe is something else")
	p.want(422, "“Paper” takes only TXT files")
	p.wantNoHTML("Choose the file again")
	p = b.send(survey, good, file)
	p.want(200, "Sent", "a.txt")
	path := p.submission() + "/change"
	b.send(path, with(b.get(path).values(), "comment", ""), file).want(422, again)
}
