package web

import (
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// Under its heading, a form says who reads the answers, and promises no more than that.
func TestAudience(t *testing.T) {
	const named, secret = "form: f\nfields:\n  - {id: a, type: textfield}\n", "form: f\nanonymous: true\nfields:\n  - {id: a, type: textfield}\n"
	const seen = "This form is anonymous: what you send is kept without your name Readers of the results see the answers and when they were sent You can't change them later "
	for _, tt := range []struct{ front, form, want string }{
		{"", named, "Sent with your name Visible to everybody who may view this page"},
		{"edit: [carol]\nresults: viewers\n", named, "Sent with your name Visible to everybody who may view this page"},
		{"edit: [carol, \"@hr\"]\n", named, "Sent with your name Visible to group hr, carol"},
		{"edit: [a, b, c, d, e, f, \"@hr\"]\n", named, "Sent with your name Visible to group hr, a, b, c, d and 2 more"},
		{"edit: []\n", named, "Sent with your name Visible to nobody: this page has no editors"},
		{"edit: [carol]\n", secret, seen + "Visible to carol"},
		{"", secret, seen + "Visible to everybody who may view this page"},
	} {
		e := newEnv(t, page1(tt.front, tt.form))
		for _, path := range []string{"/page/1", "/page/1/form/f"} {
			e.get("alice", path).want(200, tt.want)
		}
	}
}

// A form that takes no submissions says why instead of showing questions. Whoever has
// it open keeps what was typed.
func TestFormsOpenAndClose(t *testing.T) {
	const form = "/page/1/form/f"
	fields := "fields:\n  - {id: a, type: textfield, label: The question}\n"
	e, b := newAlice(t, page1("edit: [carol]\n", "form: f\nopens: 2025-11-16\ncloses: 2025-11-17\n"+fields))
	closed := func(reason string) {
		t.Helper()
		for _, path := range []string{form, "/page/1"} {
			p := b.get(path)
			p.want(200, reason)
			p.wantNoHTML("The question", "Fill in this form", "data-draft")
		}
	}
	at := func(hours int) {
		e.Clock.Set(began)
		for range hours { // the session stays in use
			e.Clock.Advance(3600e9)
			b.get("/")
		}
	}
	closed("This form is not open yet: it opens on 16 Nov 2025 (UTC).")
	at(24)
	open := b.get(form)
	open.want(200, "Open until the end of 17 Nov 2025 (UTC)", "The question")
	b.get("/page/1").want(200, "Open until the end of 17 Nov 2025 (UTC)", "The question")
	own := strings.TrimSuffix(b.send(form, with(open.values(), "a", "early")).path, "?sent")
	change := b.get(own + "/change").values()

	at(72)
	closed("This form has closed: it took submissions until the end of 17 Nov 2025 (UTC).")
	refused := b.send(form, with(open.values(), "a", "too late"))
	refused.want(422, "There is a problem", "This form has closed")
	testkit.Same(t, "what was typed", refused.values().Get("a"), "too late")
	if p := b.get(own); p.link("Change") != "" {
		t.Error("a closed form offers a change")
	}
	b.get(own+"/change").want(403, "This form has closed")
	refused = b.send(own+"/change", with(change, "a", "changed"))
	refused.want(422, "This form has closed")
	testkit.Same(t, "what was typed", refused.values().Get("a"), "changed")
	carol := e.signedIn("carol")
	carol.get(form).wantNoHTML("The question")
	carol.fill(own+"/change", "a", "mended").want(200, "mended")
}

// The line about a form also tells whether it takes one submission each, and how many
// places are left.
func TestPlacesLeft(t *testing.T) {
	e, b := newAlice(t, page1("edit: [carol]\n", "form: f\nlimit: 2\noneSubmission: true\nfields: [{id: a, type: textfield}]\n"))
	b.get("/page/1/form/f").want(200, "Visible to carol One submission each 2 of 2 places left")
	e.submit("bob", 1, "f")
	b.get("/page/1").want(200, "One submission each 1 of 2 places left")
	e.submit("carol", 1, "f")
	b.get("/page/1/form/f").want(200, "This form is full: it takes 2 submissions")
	b.get("/page/1/form/f").wantNoHTML("places left")
}

// The same line tells when submissions are deleted, in the reader's plural forms.
func TestDeletedAfter(t *testing.T) {
	e, b := newAlice(t, page1("edit: [carol]\n", "form: f\nfields: [{id: a, type: textfield}]\n"))
	b.get("/page/1/form/f").wantNoHTML("Deleted after")
	for keep, want := range map[string][2]string{
		"1 day": {"Deleted after 1 day", "Usuwane po 1 dniu"}, "90 days": {"Deleted after 90 days", "Usuwane po 90 dniach"},
		"2 weeks": {"Deleted after 2 weeks", "Usuwane po 2 tygodniach"}, "600 months": {"Deleted after 600 months", "Usuwane po 600 miesiącach"},
		"1 year": {"Deleted after 1 year", "Usuwane po 1 roku"},
	} {
		e.edit(page1("edit: [carol]\n", "form: f\nkeep: "+keep+"\nfields: [{id: a, type: textfield}]\n"))
		for i, accept := range []string{"en", "pl"} {
			b.accept = accept
			b.get("/page/1/form/f").want(200, want[i])
		}
	}
}

// Editors of a page see what is wrong with it, also while an earlier definition is in
// force. Nobody else does.
func TestEditorsSeeBrokenEdits(t *testing.T) {
	const good, bad = "form: f\nfields:\n  - {id: a, type: textfield, label: The question}\n", "form: f\nfields:\n  - {id: a, type: textfeld}\n"
	e := newEnv(t, page1("edit: [carol]\n", good))
	e.edit(page1("edit: [carol]\n", bad))
	for _, path := range []string{"/page/1", "/page/1/form/f"} {
		p := e.get("carol", path)
		p.want(200, "This page has mistakes", "Line 8: ", "textfeld", "(did you mean", "The question")
		if strings.Index(p.text(), "Line 8") > strings.Index(p.text(), "The question") {
			t.Errorf("%s: the mistakes are below the form", path)
		}
		p = e.get("alice", path)
		p.want(200, "The question")
		p.wantNoHTML("mistakes", "textfeld")
	}
	e.edit(page1("edit: [carol]\nlang: klingonisch\n", good)) // a warning
	p := e.get("carol", "/page/1")
	p.want(200, "This page has warnings", "Line 4, warning: ", "klingonisch")
	p.wantNoHTML("mistakes")
	e.get("alice", "/page/1").wantNoHTML("klingonisch")
}

// A point in time is shown in the server's zone, on the page and while the form is written. A script finds it.
func TestFormOpensAtATime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	testkit.Must(t, err)
	form := func(key string) string {
		return "form: f\n" + key + ": 2099-01-02T03:04:05+01:00\nfields: [{id: a, type: textfield}]\n"
	}
	e, b := newAlice(t, page1("edit: [carol]\n", form("opens")), func(o *envOptions) { o.service.Zone = berlin })
	for _, show := range []func(text string) *answer{b.write, func(text string) *answer {
		e.edit(page1("edit: [carol]\n", text))
		return b.get("/page/1/form/f")
	}} {
		opens := show(form("opens"))
		opens.want(200, "This form is not open yet: it opens on 2 Jan 2099, 03:04 Europe/Berlin.")
		opens.wantHTML(`<time datetime="2099-01-02T03:04:05+01:00">`)
		closes := show(form("closes"))
		closes.want(200, "Open until 2 Jan 2099, 03:04 Europe/Berlin")
		closes.wantHTML(`<time datetime="2099-01-02T02:04:05Z">`)
	}
}
