package web

import (
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

const labelledForm = `form: feedback
fields:
  - {id: kind, type: dropdown, label: Kind, required: true, options: [{value: k1, label: <Holiday>}, other]}
  - {id: size, type: radio, label: Size, options: [{value: 1, label: Small}, {value: 2}]}
  - {id: days, type: checkbox, label: Days, options: [{value: d1, label: Monday}, {value: d2, label: Tuesday}]}
  - id: state
    type: status
    label: State
    by: editors
    options: [open, {value: s1, label: Granted, color: green}, {value: s2, label: Refused, color: red}]
    default: open
`

// People read labels on all pages. What is sent and stored is the value.
func TestLabelsOfOptions(t *testing.T) {
	e := newEnv(t, page1("edit: [carol]\n", labelledForm))
	bob, carol := e.signedIn("bob"), e.signedIn("carol")
	const form = "/page/1/form/feedback"
	bob.get(form).wantHTML(
		`<option value="k1">&lt;Holiday&gt;</option>`, `<bdi>Small</bdi>`, `<bdi>2</bdi>`, `value="d1"`, `<bdi>Tuesday</bdi>`,
	)
	bob.fill(form, "kind", "<Holiday>").want(422, "“Kind” must be one of <Holiday>, other")
	path := bob.fill(form, "kind", "k1", "size", "1", "days", "d1").submission()

	shown := carol.get(path)
	shown.want(200, "<Holiday>", "Small", "Monday", "Granted", "Refused")
	shown.wantHTML(`<bdi>Granted</bdi>`, `<button type="submit" class="color-grey"`)
	carol.send(shown.pressed("Granted")).want(200, "Saved")
	carol.get(path + "/change").wantHTML(`<bdi class="lozenge color-red">Refused</bdi>`)
	bob.get(path).wantHTML(`<span class="lozenge color-green">Granted</span>`, "<li>Monday</li>")
	mine := bob.get(form + "/results")
	mine.want(200, "State Granted")
	mine.wantHTML(`<span class="lozenge color-green">Granted</span>`, `<bdi>&lt;Holiday&gt;</bdi>`)
	want := map[string]string{"kind": "k1", "size": "1", "days": "d1", "state": "s1"}
	testkit.Diff(t, "stored", valuesOf(t, e.latest("bob", 1, "feedback")), want)

	results := carol.get(form + "/results?q=granted")
	results.want(200, "Search granted")
	results.wantHTML(
		`<bdi class="lozenge color-green"><mark>Granted</mark></bdi>`, `<span class="tag" dir="auto">Monday</span>`,
	)
	carol.get(form+"/results?view=summary&q=granted").wantHTML(
		`&amp;q=granted&amp;view=table" title="Show these"><span class="lozenge color-green">Granted</span></a>`,
		`<span class="lozenge color-red">Refused</span>`,
	)
	carol.get(form + "/results?_field=days").wantHTML("value=\"d1\">\n<bdi>Monday</bdi></label>")
	filtered := carol.get(form + "/results?filter[state][one-of]=s1;s2&filter[days][contains]=d1")
	filtered.want(200, "State is one of Granted, Refused", "Days includes Monday", "1–1 of 1")
	carol.get(form + "/results.csv").wantHTML(",<Holiday>,Small,Monday,Granted\r\n")
}
