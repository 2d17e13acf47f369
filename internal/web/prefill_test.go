package web

import (
	"net/url"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

const leaveForm = `form: f
fields:
  - {id: name, type: textfield, label: Name, maxLength: 20}
  - {id: days, type: textfield, label: Days, validate: numeric, min: 1, max: 30, default: 5}
  - {id: first, type: date, label: First day, min: today, default: today}
  - {id: last, type: date, label: Last day, min: {field: first}}
  - {id: kind, type: radio, label: Kind, options: [paid, unpaid], default: paid}
  - {id: with, type: checkbox, label: With, options: [pay, car, desk], default: [pay, desk]}
  - {id: cv, type: file, label: CV}
  - {id: state, type: status, label: State, options: [open, granted], default: open, by: editors}
  - {id: reason, type: textbox, label: Reason, by: editors}
  - {id: while, type: textfield, label: While it is open, showIf: {field: state, equals: open}}
  - {id: after, type: textfield, label: When it is granted, showIf: {field: state, equals: granted}, default: later}
  - {section: office, title: Office use, fields: [{id: note, type: textfield, label: Note, by: editors}]}
`

const leavePath = "/page/1/form/f"

func fieldIDs(p *answer) (ids []string) {
	for _, n := range p.find("[data-field]") {
		ids = append(ids, attribute(n, "data-field"))
	}
	return ids
}

// The form begins with its defaults. What somebody empties stays empty.
func TestDefaultsAreFilledIn(t *testing.T) {
	e, b := newAlice(t, page1("edit: [carol]\n", leaveForm))
	for _, path := range []string{leavePath, "/page/1"} {
		b.get(path).wantValues("name", "", "days", "5", "first", "2025-11-15", "last", "",
			"kind", "paid", "with", "pay;desk", "while", "")
	}
	values := b.get(leavePath).values()
	b.send(leavePath, values).want(200)
	e.wantStored("f", "days", "5", "with", "pay;desk", "state", "open", "first", "2025-11-15")
	cleared := with(values, "days", "", "kind", "", "first", "")
	delete(cleared, "with") // no box is ticked
	again := b.send(leavePath, with(cleared, "_update", "1"))
	again.wantValues("days", "", "with", "")
	testkit.Same(t, "the last question is hidden", hidden(again, "after"), true)
	b.send(leavePath, cleared).want(200)
	e.wantStored("f", "days", "", "with", "", "kind", "", "first", "")
	if _, stored := e.stored("f")["after"]; stored {
		t.Error("the default of a hidden question is stored")
	}
}

// A question that was hidden when the form was sent shows its default, if it is there
// when the form is shown again.
func TestDefaultsOfQuestionsThatAreAdded(t *testing.T) {
	_, b := newAlice(t, page1("", "form: f\nfields:\n  - {id: a, type: textfield}\n  - {id: b, type: textfield, default: x, showIf: {field: a, not-empty: true}}\n"))
	p := b.fill(leavePath, "a", "1", "_update", "1")
	p.wantValues("b", "x")
	testkit.Same(t, "it is hidden", hidden(p, "b"), false)
}

// Only editors find the questions that they answer on the form. They count for
// conditions all the same.
func TestEditorsFields(t *testing.T) {
	e := newEnv(t, page1("edit: [carol]\n", leaveForm))
	b, carol := e.signedIn("alice"), e.signedIn("carol")
	all := []string{"name", "days", "first", "last", "kind", "with", "cv", "state", "reason", "while", "after", "note"}
	others := []string{"name", "days", "first", "last", "kind", "with", "cv", "while", "after"}
	for _, path := range []string{leavePath, "/page/1"} {
		testkit.Diff(t, "what an editor sees", fieldIDs(carol.get(path)), all)
		p := b.get(path)
		testkit.Diff(t, "what others see", fieldIDs(p), others)
		p.wantNoHTML("Office use")
		p.wantHTML(`data-fixed="{&#34;state&#34;:&#34;open&#34;}"`)
		if hidden(p, "while") || !hidden(p, "after") {
			t.Errorf("%s: the default of an editors' question does not count", path)
		}
	}
	sent := b.fill(leavePath, "name", "Al")
	sent.want(200, "State", "open")
	sent.wantNoHTML("Reason") // which has no answer
	own := sent.submission()
	b.fill(leavePath, "state", "granted").want(422, "“State” is set by editors of this page only")

	carol.fill(own+"/change", "state", "granted", "reason", "why not").want(200, "granted")
	p := b.get(own + "/change")
	testkit.Diff(t, "what others change", fieldIDs(p), others)
	if !hidden(p, "while") || hidden(p, "after") {
		t.Error("the answer to an editors' question does not count")
	}
	b.send(own+"/change", with(p.values(), "name", "Bo")).want(200, "Bo", "granted", "why not")
}

// An address fills in what the reader may set, and sends nothing.
func TestPrefilledAddress(t *testing.T) {
	e := newEnv(t, page1("edit: [carol]\n", leaveForm))
	query := "?" + url.Values{
		"name": {"  Zoë <b>  "}, "days": {"7,5"}, "first": {"soon"}, "last": {"2026-01-31"}, "kind": {"unpaid"}, "with": {"car", "desk"},
		"state": {"granted"}, "reason": {"so"}, "cv": {"cv.pdf"}, "unknown": {"x"}, "_key": {"k"}, "_tag": {"t"},
	}.Encode()
	check := func(p *answer, state string) {
		t.Helper()
		p.want(200)
		p.wantValues("name", "Zoë <b>", "days", "7.5", "first", "2025-11-15", "last", "2026-01-31",
			"kind", "unpaid", "with", "car;desk", "state", state)
		if got := p.values(); got.Get("_key") == "k" || got.Has("_tag") || got.Has("unknown") {
			t.Errorf("%s: %q", p.path, got)
		}
	}
	check(e.get("alice", leavePath+query), "")
	check(e.get("carol", leavePath+query), "granted")
	check(e.framed("alice", "/embed"+leavePath+query), "")
	for _, odd := range []string{"?kind=other", "?with=pay&with=plane", "?name=%00", "?name=%ff", "?name=" + strings.Repeat("x", 21), "?days=five"} {
		p := e.get("alice", leavePath+odd)
		p.wantValues("kind", "paid", "name", "", "days", "5", "with", "pay;desk")
		p.wantNoHTML(`value="plane"`, ">plane<", ">other<")
	}
	testkit.Same(t, "submissions were sent", e.count("alice", 1, "f"), 0)
	// After a sign-in, the address is still there.
	b := e.browser()
	check(b.postForm("/login", credentials("alice", b.get(leavePath+query).values().Get("next"))), "")
}

// A question says which answers it takes, before the server refuses one.
func TestBoundsAreTold(t *testing.T) {
	_, b := newAlice(t, page1("edit: [carol]\n", leaveForm+
		"  - {id: low, type: textfield, validate: numeric, min: 0.5}\n  - {id: high, type: textfield, validate: numeric, max: -1}\n"+
		"  - {id: past, type: date, max: today}\n"))
	p := b.get(leavePath)
	p.want(200, "At most 20 characters.", "From 1 to 30.", "Not before 15 Nov 2025.", "Not before “First day”.", "At least 0.5.", "At most -1.", "Not after 15 Nov 2025.")
	p.wantHTML(`name="first" value="2025-11-15" dir="auto" min="2025-11-15"`, `max="2025-11-15"`, `inputmode="decimal"`)
	b.fill(leavePath, "days", "31", "name", strings.Repeat("é", 21), "last", "2025-11-14").want(422,
		"“Days” must be at most 30", "“Name” must have at most 20 characters", "“Last day” must not be before First day (15 Nov 2025)")
}
