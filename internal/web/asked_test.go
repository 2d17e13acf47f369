package web

import (
	"strings"
	"testing"
)

const askedForm = `form: f
fields:
  - {id: trip, type: textfield, label: Where to?, required: true}
  - {id: by, type: checkbox, label: By, options: [{value: t, label: Train}, {value: b, label: Bus}], default: [t, b]}
  - {id: gone, type: textfield, label: Costs}
  - {id: same, type: textfield, label: Remarks}
  - {id: state, type: status, label: State, options: [{value: new, label: New}, done], default: new, by: editors}
`

// The page of a submission shows the words of the form that it was sent to where they are others now. Package forms
// decides which these are.
func TestAskedAs(t *testing.T) {
	e, b := newAlice(t, page1("edit: [carol]\n", askedForm))
	path := b.fill(leavePath, "trip", "Rome", "gone", "90", "same", "None").submission()
	b.get(path).wantNoHTML("asked as")
	e.Write(t, "1.md", page1("edit: [carol]\n", strings.NewReplacer("id: trip", "id: place, was: trip", "Where to?", "Destination <b>",
		"label: Train", "label: Rail", "  - {id: gone, type: textfield, label: Costs}\n", "", "label: State", "label: Stage", "label: New", "label: Open").Replace(askedForm))["1.md"])
	const asked = `<small class="asked" lang="en">asked as: <bdi>`
	words := []string{
		">Destination &lt;b&gt;" + asked + "Where to?<", "<li>Bus</li></ul>" + asked + "Train, Bus<", ">gone" + asked + "Costs<", ">Remarks</dt>",
	}
	page := b.get(path)
	page.wantHTML(append(words, ">Stage"+asked+"State<", ">Open</span>"+asked+"New<")...)
	editors := e.get("carol", path)
	editors.wantHTML(append(words, "<legend>Stage</legend>"+asked+"State<", asked+"New</bdi></small>\n</fieldset>")...)
}
