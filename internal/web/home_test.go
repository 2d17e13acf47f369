package web

import (
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/testkit"
)

// rows are the texts of the rows of a page.
func (a *answer) rows() (texts []string) {
	for _, row := range a.mine() {
		texts = append(texts, row[1])
	}
	return texts
}

// Editors see how many submissions wait for them, with a link to these. All see what
// became of their own.
func TestHomeTellsWhatWaits(t *testing.T) {
	const fields = "fields:\n  - {id: a, type: textfield}\n  - {id: state, type: status, label: State, by: editors, "
	e := newEnv(t, map[string]string{
		"1.md": "---\ntitle: Leave\nedit: [carol]\n---\n```form\nform: f\nlimit: 900\ntitle: Leave\n" + fields +
			"options: [New, {value: ok, label: Granted}], default: New}\n```\n",
		"2.md": "---\ntitle: Travel\nedit: [carol]\n---\n```form\nform: f\ntitle: Trip\nlimit: 1\n" + fields + "options: [ok]}\n```\n",
	}, func(o *envOptions) { o.Version = "0.1.0" })
	e.submit("alice", 1, "f", "a", "first")
	e.submit("alice", 1, "f", "a", "second")
	e.submit("bob", 2, "f", "a", "x")
	wants := func(user string, want ...string) *answer {
		t.Helper()
		home := e.get(user, "/")
		testkit.Diff(t, user, home.rows(), want)
		return home
	}
	wants("carol", "Leave 898 of 900 places left 2 waiting in “Leave”", "Trip Travel Full 1 waiting in “Trip”")
	carol := e.signedIn("carol")
	carol.fill("/page/1/form/f/submission/1/change", "state", "ok")
	home := wants("carol", "Leave 898 of 900 places left 1 waiting in “Leave”", "Trip Travel Full 1 waiting in “Trip”")
	list := carol.get(home.link("1 waiting in “Leave”"))
	list.want(200, "State is one of New, no answer")
	list.wantHTML("/submission/2?")
	list.wantNoHTML("/submission/1?")
	carol.get(home.link("1 waiting in “Trip”")).wantHTML("/submission/3?")
	wants("alice", "Leave 898 of 900 places left", "Trip Travel Full",
		"My submission: Leave second State New 2025-11-15", "My submission: Leave first State Granted 2025-11-15")
	for range 200 {
		e.submit("bob", 1, "f")
	}
	e.get("carol", "/").wantHTML(`<p class="version"><bdi>Formulary 0.1.0</bdi></p>`)
	e.get("alice", "/").wantNoHTML("0.1.0") // she may edit no page
	wants("carol", "Leave 698 of 900 places left 201 waiting in “Leave”", "Trip Travel Full 1 waiting in “Trip”")
	page := e.get("carol", "/page/1/form/f")
	page.want(200, "201 waiting in “Leave”")
	e.get("carol", page.link("201 waiting in “Leave”")).want(200, "of 201")
	e.get("alice", "/page/1/form/f").wantNoHTML("waiting")
}

// A number that is not final has a plus, and a form that nobody could look at may have some.
func TestWaitingLink(t *testing.T) {
	access := &service.Access{Form: &forms.Form{PageID: 1, ID: "f"}}
	c := &call{Lang: english}
	for _, tt := range []struct {
		n      service.Waiting
		number string
		leads  bool
	}{
		{service.Waiting{Count: 41, Exact: true}, "41", true},
		{service.Waiting{Count: 41}, "41+", true},
		{service.Waiting{}, "", true},
		{service.Waiting{Exact: true}, "", false},
	} {
		if got := c.newWaitingLink(access, tt.n); got.Number != tt.number || (got.Path != "") != tt.leads {
			t.Errorf("%+v: %q leads to %q", tt.n, got.Number, got.Path)
		}
	}
}
