package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

const typing = "form: price\nfields:\n" +
	"  - {id: price, type: textfield, label: Price, validate: numeric}\n" +
	"  - {id: name, type: textfield, label: Name, required: true}\n" +
	"  - {id: note, type: textbox, label: Note}\n" +
	"  - {id: size, type: dropdown, label: Size, options: [\" small\", large]}\n"

// People type spaces and commas that must not be stored.
func TestTypedValues(t *testing.T) {
	e, b := newAlice(t, page1("", typing))
	const form = "/page/1/form/price"
	p := b.fill(form, "price", "\t-7,50", "name", " \tAmy Other\u00a0", "note", " two \r\nlines ", "size", " small")
	p.want(200, "This is what was sent")
	got := e.stored("price")
	if got["price"] != "-7.50" || got["name"] != "Amy Other" || got["note"] != " two \nlines " || got["size"] != " small" {
		t.Errorf("stored %q", got)
	}
	// A change, and what is still wrong: as it was typed.
	change := fmt.Sprintf("%s/submission/%d/change", form, e.latest("alice", 1, "price").ID)
	b.fill(change, "price", "1,25").want(200, "The changes are saved.")
	testkit.Same(t, "changed", e.stored("price")["price"], "1.25")
	for _, typed := range []string{"1,2,3", "7,", ",5", "seven"} {
		p := b.fill(form, "price", typed, "name", " ")
		p.want(422, "“Price” must be a number", "“Name” is required")
		testkit.Same(t, "price", p.values().Get("price"), typed)
	}
}

// What somebody did not touch is no change, also if it was stored by the API with
// spaces around it.
func TestUntouchedSpacesAreNoChange(t *testing.T) {
	e, b := newAlice(t, page1("", typing))
	id := e.submit("alice", 1, "price", "name", "  spacious  ", "price", "1")
	change := fmt.Sprintf("/page/1/form/price/submission/%d/change", id)
	b.fill(change, "price", "2").want(200, "The changes are saved.")
	if got := e.stored("price"); got["name"] != "  spacious  " || got["price"] != "2" {
		t.Errorf("stored %q", got)
	}
}

// The keypad for numbers has no minus on some phones.
func TestNumericKeypad(t *testing.T) {
	if !notNegative(&forms.Bound{Value: "0"}) || !notNegative(&forms.Bound{Value: "1.5"}) {
		t.Error("a bound of at least 0 leaves room for a minus")
	}
	for _, b := range []*forms.Bound{nil, {Value: "-1"}, {FieldID: "other"}} {
		if notNegative(b) {
			t.Errorf("%v leaves no room for a minus", b)
		}
	}
	p := newEnv(t, page1("", typing)).get("alice", "/page/1/form/price")
	for _, n := range p.find(`[name="price"]`) {
		if hasAttribute(n, "inputmode") {
			t.Error("a number that may be negative has a keypad without a minus")
		}
	}
}

// The browser keeps a draft for each user, and each form or submission. It keeps none
// of an anonymous form.
func TestDraftNames(t *testing.T) {
	e := newEnv(t, wiki)
	draft := func(p *answer) (name string, typed bool) {
		for _, n := range p.find("form[data-draft]") {
			return attribute(n, "data-draft"), hasAttribute(n, "data-typed")
		}
		return "", false
	}
	amys, _ := draft(e.get("alice", survey))
	for _, p := range []*answer{e.get("alice", "/page/1"), e.framed("alice", "/embed"+survey)} {
		if got, _ := draft(p); got != amys {
			t.Errorf("%s: the draft is %q, want %q", p.path, got, amys)
		}
	}
	bobs, _ := draft(e.get("bob", survey))
	if bobs == amys || !strings.HasSuffix(amys, " "+survey) || strings.Contains(amys, "alice") {
		t.Errorf("drafts of two users are %q and %q", amys, bobs)
	}
	if got, _ := draft(e.get("alice", "/page/3/form/ballot")); got != "" {
		t.Errorf("the browser keeps answers to an anonymous form as %q", got)
	}

	b := e.signedIn("alice")
	refused := b.send(survey, b.get(survey).values())
	if got, typed := draft(refused); got != amys || !typed {
		t.Errorf("refused: %q, typed %t", got, typed)
	}
	sent := b.fill(survey, "comment", "c")
	sent.wantHTML("data-sent")
	path := sent.submission()
	change := b.get(path + "/change")
	if got, typed := draft(change); !strings.HasSuffix(got, " "+path) || typed {
		t.Errorf("change: %q, typed %t", got, typed)
	}
	b.send(path+"/change", with(change.values(), "comment", "d")).wantHTML("data-sent")
	b.get(path).wantNoHTML("data-sent")
}
