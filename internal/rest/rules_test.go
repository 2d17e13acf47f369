package rest

import (
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// rulesPage has forms with everything that pages say beyond the interface. The clock
// stands at 2025-11-15.
const rulesPage = "---\ntitle: Rules\nedit: [alice]\nresults: viewers\n---\n" +
	"```yaml form\n" + `form: leave
fields:
  - {id: first, type: date, label: First day, min: today, default: today}
  - {id: last, type: date, label: Last day, required: true, min: {field: first}}
  - {id: days, type: textfield, label: Days, validate: numeric, min: 1, max: 30}
  - {id: note, type: textbox, label: Note, maxLength: 3}
  - {id: state, type: status, label: State, options: [asked, granted], default: asked, by: editors}
  - {id: room, type: textfield, label: Room, default: 1A, showIf: {field: state, equals: granted}}
` + "```\n```yaml form\n" + `form: seats
limit: 1
fields: [{id: name, type: textfield, label: Name}]
` + "```\n```yaml form\n" + `form: over
closes: 2025-11-15
fields: [{id: name, type: textfield, label: Name}]
` + "```\n"

// Packages forms and service decide. This is how it is answered, with ?validate=only as without it.
func TestRules(t *testing.T) {
	e := newEnv(t, map[string]string{"1.md": rulesPage})
	leave, seats, over := form(1, "leave"), form(1, "seats")+"/submission", form(1, "over")
	path, _ := e.create(t, "bob", leave, nestedBody("last", "2025-11-16"))
	const name = `{"fields":{"name":{"fieldId":"name","value":"x"}}}`
	closing, _ := e.create(t, "bob", over, name)
	rows := testkit.Rows(strings.NewReplacer(
		"OWN", result(path), "LEAVE", leave+"/submission", "SEATS", seats, "OVER", over+"/submission", "CLOSING", result(closing),
		"READ", e.get(t, "bob", result(path)), "NAME", name, "GRANT", nestedBody("last", "2025-11-16", "state", "granted"),
		"BOUNDS", nestedBody("first", "2025-11-14", "last", "2025-11-13", "days", "31", "note", "long"),
		"ENDED", "this form has closed: it took submissions until the end of 2025-11-15 (UTC)",
	).Replace(`
		bob PUT | OWN | {} | 200 | "first":"2025-11-15","last":"2025-11-16","days":"","note":"","state":"asked","room":""
		bob POST | LEAVE | BOUNDS | 400 | {"valid":false,"fieldErrors":{"days":"must be at most 30","first":"must not be before today (2025-11-15)","last":"must not be before First day (2025-11-14)","note":"must have at most 3 characters"},"errors":[]}
		bob POST | LEAVE | GRANT | 400 | "state":"is set by editors of this page only"
		bob PUT | OWN | {"state":"granted"} | 400 | "state":"is set by editors of this page only"
		bob PUT | OWN | READ | 200 | "state":"asked"
		bob PUT | OWN | {"first":"2025-11-17"} | 400 | {"last":"must not be before First day (2025-11-17)"}
		alice PUT | OWN | {"state":"granted"} | 200 | "state":"granted","room":""
		bob POST | SEATS | NAME | 201 |
		alice POST | SEATS | NAME | 400 | {"valid":false,"fieldErrors":{},"errors":["this form is full: it takes 1 submission"]}
		a day later
		alice POST | OVER | NAME | 400 | {"valid":false,"fieldErrors":{},"errors":["ENDED"]}
		bob PUT | CLOSING | {"name":"y"} | 400 | "errors":["ENDED. Only editors of this page may change submissions now"]
		alice PUT | CLOSING | {"name":"y"} | 200 | "name":"y"
	`))
	for _, row := range rows {
		if len(row) == 1 {
			e.Clock.Advance(24 * time.Hour)
			continue
		}
		only := e.do(t, ask(row[0], row[1]+"?validate=only", row[2]))
		a := e.expectText(t, row[3], ask(row[0], row[1], row[2]), row[4])
		if a.status == 400 && only.body != a.body || a.status < 300 && only.body != validResult {
			t.Errorf("%s, validation only: %s", row, only.body)
		}
	}
	stale := headerOf("Content-Type", "application/json", "If-Match", `"stale"`)
	e.expect(t, 412, ask("bob PUT", result(closing), `{"name":"z"}`).with(stale)) // before 400
	if definition := e.get(t, "bob", leave); strings.Contains(definition, "editors") || strings.Contains(definition, "default") {
		t.Errorf("the definition has more members: %s", definition)
	}
}

// Last-Modified and _changed are those of the creation until a value changes.
func TestChanges(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	for _, tt := range []struct{ body, modified, day string }{
		{`{"name":"Ann"}`, "Sat, 15 Nov 2025 00:00:00 GMT", "2025-11-15"},
		{`{"note":"ok"}`, "Mon, 17 Nov 2025 16:00:00 GMT", "2025-11-17"},
	} {
		e.Clock.Advance(32 * time.Hour)
		e.expect(t, 200, ask("alice PUT", result(path), tt.body))
		nested := e.expect(t, 200, ask("alice GET", path))
		flat := e.expect(t, 200, ask("alice HEAD", result(path)))
		same := e.expect(t, 304, ask("alice GET", path).with(headerOf("If-None-Match", nested.header.Get("Etag"))))
		for _, a := range []answer{nested, flat, same} {
			testkit.Same(t, tt.body, a.header.Get("Last-Modified"), tt.modified)
		}
		for _, filter := range []string{"_changed]=" + tt.day, "_timestamp]=2025-11-15", "_timestamp]=" + beganMillis} {
			if rows := results(t, e.get(t, "alice", allPath+"/result?filter["+filter)); len(rows) != 1 {
				t.Errorf("%s finds %v", filter, rows)
			}
		}
	}
}
