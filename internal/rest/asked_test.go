package rest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

const askedPage = "---\ntitle: Poll\nedit: [alice]\n---\n" + "```yaml form\n" + `form: poll
fields:
  - {id: pick, type: dropdown, label: Pick, options: [{value: a, label: Ay}, b], required: true}
  - section: more
    showIf: {field: pick, equals: b}
    fields:
      - {id: paper, type: file, label: Paper, accept: [.pdf]}
` + "```\n"

// Each submission has the form that it was checked against, whatever the page and the submission become.
func TestFormOfSubmission(t *testing.T) {
	e := newEnv(t, map[string]string{"1.md": askedPage})
	asked := e.expect(t, 200, ask("bob GET", form(1, "poll"))).body
	first, _ := e.create(t, "bob", form(1, "poll"), nestedBody("pick", "a"))
	e.Write(t, "1.md", strings.NewReplacer("id: pick", "id: choice, was: pick", "label: Pick", "label: Choose", "field: pick", "field: choice").Replace(askedPage))
	second, _ := e.create(t, "bob", form(1, "poll"), nestedBody("choice", "b"))
	e.expect(t, 200, ask("bob PUT", result(first), `{"choice":"b"}`))
	now := e.expect(t, 200, ask("bob GET", form(1, "poll"))).body
	e.Write(t, "1.md", askedPage)
	third, _ := e.create(t, "bob", form(1, "poll"), nestedBody("pick", "a"))
	unknown, err := e.Store.Create(t.Context(), store.New{PageID: 1, FormID: "poll", Username: "bob", Created: e.Clock.Now()})
	testkit.Must(t, err)
	for _, row := range testkit.Rows(strings.NewReplacer("FIRST", first, "SECOND", second, "THIRD", third,
		"UNKNOWN", fmt.Sprint(form(1, "poll"), "/submission/", unknown.ID)).Replace(`
		bob GET | FIRST/form | 200 | ASKED
		alice GET | FIRST/form | 200 | ASKED
		bob GET | SECOND/form | 200 | NOW
		bob GET | THIRD/form | 200 | ASKED
		carol GET | FIRST/form | 404 | There is no such submission.
		bob GET | FIRST9/form | 404 | There is no such submission.
		bob POST | FIRST/form | 405 |
		bob GET | UNKNOWN/form | 404 | It is not known how the form was when this was sent.
	`)) {
		e.expectText(t, row[2], ask(row[0], row[1]), strings.NewReplacer("ASKED", asked, "NOW", now).Replace(row[3]))
	}
}
