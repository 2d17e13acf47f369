package web

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/testkit"
)

const scaleForm = `form: office
fields:
  - {id: likely, type: radio, label: Likely, options: [{value: 0, label: Zero}, 1, 2], scale: [Never, At once]}
  - {id: bare, type: radio, label: Bare, options: [0, 1], required: true, scale: ["", ""]}
  - {id: km, type: textfield, label: Way, validate: numeric}
  - section: rooms
    title: Rooms
    grid: true
    showIf: {field: bare, equals: 1}
    fields:
      - {id: light, type: radio, label: Light, help: At noon, required: true, options: &o [{value: 1, label: bad}, {value: 2, label: good}]}
      - {id: air, type: radio, label: Air, options: *o, default: 2}
`

// Choices of a scale are in a row with its ends, and those of a grid in rows below one head.
// People read labels, and "No answer" is last.
func TestScaleAndGrid(t *testing.T) {
	e, b := newAlice(t, page1("lang: de\n", scaleForm))
	const form = "/page/1/form/office"
	p := b.get(form + "?bare=1&likely=0")
	p.wantHTML(
		`aria-describedby="f0-0-ends"`, `<span class="ends" id="f0-0-ends" lang="de"><span>Never</span>`, `<span>At once</span>`, `<bdi lang="de">Zero</bdi>`,
		`name="km" value="" dir="auto" class="number"`,
		`aria-hidden="true"><span></span><span lang="de">bad</span><span lang="de">good</span><span>No answer</span></div>`,
		`role="radiogroup" aria-labelledby="f0-3-label" aria-describedby="f0-3-help" aria-required="true">`,
		`id="f0-3-label" class="label required" lang="de">Light</span>`,
	)
	p.wantNoHTML(`id="f0-1-ends"`)
	testkit.Same(
		t, "choices", radios(p), "likely=0! likely=1 likely=2 likely= bare=0 bare=1! light=1 light=2 air=1 air=2! air=",
	)
	refused := b.fill(form, "bare", "1", "air", "")
	refused.want(422, "“Light” is required")
	refused.wantHTML(`href="#f0-3"`, `<div class="field invalid" data-field="light" role="radiogroup"`, `id="f0-3-error"`, `aria-invalid="true"`)
	b.fill(form, "bare", "1", "light", "2", "air", "").want(200, "This is what was sent")
	e.wantStored("office", "light", "2", "air", "", "likely", "")
	b.get(form).wantHTML(`data-section="rooms" hidden>`) // its condition does not hold
}

// A grid is no table if a row has a choice that others don't have, or if there are too many.
func TestGridThatIsNoTable(t *testing.T) {
	eleven := "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10"
	for _, test := range []struct {
		options, value string
		want           int // columns
	}{
		{"1, 2", "", 2}, {"1, 2", "2", 2}, {"1, 2", "3", 0}, {eleven, "", 11}, {eleven + ", 11", "", 0},
	} {
		fBlock, problems := markup.ParseForm(1, "", []byte("form: f\nfields: [{section: s, grid: true, fields: [{id: x, type: radio, required: true, options: ["+test.options+"]}]}]\n"), nil)
		f := fBlock.Form
		if f == nil {
			t.Fatal(problems)
		}
		views, _ := layOut("f0", f, filling{lang: english, values: []string{test.value}})
		if got := len(views[0].Head); got != test.want {
			t.Errorf("options %s, value %q: %d columns, want %d", test.options, test.value, got, test.want)
		}
	}
}

// A question that only editors see gives no column to the grid of others.
func TestGridOfOthers(t *testing.T) {
	const form = "form: f\nfields: [{section: s, grid: true, fields: [" +
		"{id: a, type: radio, required: true, options: [1, 2]}, {id: b, type: radio, by: editors, options: [1, 2]}]}]\n"
	e := newEnv(t, page1("edit: [carol]\n", form))
	const head = "<span></span><span>1</span><span>2</span>"
	e.get("alice", "/page/1/form/f").wantHTML(head + "</div>")
	e.get("carol", "/page/1/form/f").wantHTML(head + "<span>No answer</span></div>")
}

// radios are the names and values of all radio buttons, with a mark at those that are chosen.
func radios(p *answer) string {
	var list []string
	for _, n := range p.find(`[type="radio"]`) {
		text := attribute(n, "name") + "=" + attribute(n, "value")
		if hasAttribute(n, "checked") {
			text += "!"
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}
