package web

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
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
	e.wantStored("price", "price", "-7.50", "name", "Amy Other", "note", " two \nlines ", "size", " small")
	// A change, and what is still wrong: as it was typed.
	b.fill(p.submission()+"/change", "price", "1,25").want(200, "The changes are saved.")
	e.wantStored("price", "price", "1.25")
	p = b.fill(form, "price", "1,2,3", "name", " ")
	p.want(422, "“Price” must be a number", "“Name” is required")
	p.wantValues("price", "1,2,3")
}

// What somebody did not touch is no change, also if it was stored by the API with
// spaces around it.
func TestUntouchedSpacesAreNoChange(t *testing.T) {
	e, b := newAlice(t, page1("", typing))
	e.submit("alice", 1, "price", "name", "  spacious  ", "price", "1")
	b.fill("/page/1/form/price/submission/1/change", "price", "2").want(200, "The changes are saved.")
	e.wantStored("price", "name", "  spacious  ", "price", "2")
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
