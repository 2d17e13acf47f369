package rest

import (
	"strings"
	"testing"
	"time"
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
	const editors, name = `"state":"is set by editors of this page only"`, `{"fields":{"name":{"fieldId":"name","value":"x"}}}`
	const full = `{"valid":false,"fieldErrors":{},"errors":["this form is full: it takes 1 submission"]}`
	const closed = "this form has closed: it took submissions until the end of 2025-11-15 (UTC)"
	closing, _ := e.create(t, "bob", over, name)
	for _, tt := range []struct {
		what, user, method, path, body string
		status                         int
		want                           string
	}{
		{"defaults", "bob", "PUT", result(path), `{}`, 200, `"first":"2025-11-15","last":"2025-11-16","days":"","note":"","state":"asked","room":""`},
		{"bounds", "bob", "POST", leave + "/submission", nestedBody("first", "2025-11-14", "last", "2025-11-13", "days", "31", "note", "long"), 400, `{"valid":false,"fieldErrors":{` +
			`"days":"must be at most 30","first":"must not be before today (2025-11-15)",` +
			`"last":"must not be before First day (2025-11-14)","note":"must have at most 3 characters"},"errors":[]}`},
		{"others grant", "bob", "POST", leave + "/submission", nestedBody("last", "2025-11-16", "state", "granted"), 400, editors},
		{"others grant later", "bob", "PUT", result(path), `{"state":"granted"}`, 400, editors},
		{"what was read is sent back", "bob", "PUT", result(path), e.get(t, "bob", result(path)), 200, `"state":"asked"`},
		{"the other field is sent", "bob", "PUT", result(path), `{"first":"2025-11-17"}`, 400, `{"last":"must not be before First day (2025-11-17)"}`},
		{"editors grant", "alice", "PUT", result(path), `{"state":"granted"}`, 200, `"state":"granted","room":""`},
		{"the last place", "bob", "POST", seats, name, 201, ""},
		{"no place", "alice", "POST", seats, name, 400, full},
		{"a day later", "alice", "POST", over + "/submission", name, 400, `{"valid":false,"fieldErrors":{},"errors":["` + closed + `"]}`},
		{"update after the end", "bob", "PUT", result(closing), `{"name":"y"}`, 400, `"errors":["` + closed + `. Only editors of this page may change submissions now"]`},
		{"update by an editor", "alice", "PUT", result(closing), `{"name":"y"}`, 200, `"name":"y"`},
	} {
		if tt.what == "a day later" {
			e.Clock.Advance(24 * time.Hour)
		}
		only := e.do(t, ask(tt.user+" "+tt.method, tt.path+"?validate=only", tt.body))
		a := e.expect(t, tt.status, ask(tt.user+" "+tt.method, tt.path, tt.body))
		if !strings.Contains(a.body, tt.want) {
			t.Errorf("%s: %s, want %s", tt.what, a.body, tt.want)
		}
		if tt.status == 400 && only.body != a.body || tt.status < 300 && only.body != validResult {
			t.Errorf("%s, validation only: %s", tt.what, only.body)
		}
	}
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
			if at := a.header.Get("Last-Modified"); at != tt.modified {
				t.Errorf("after %s: last modified %s, want %s", tt.body, at, tt.modified)
			}
		}
		for _, filter := range []string{"_changed]=" + tt.day, "_timestamp]=2025-11-15", "_timestamp]=" + beganMillis} {
			if rows := results(t, e.get(t, "alice", allPath+"/result?filter["+filter)); len(rows) != 1 {
				t.Errorf("%s finds %v", filter, rows)
			}
		}
	}
}
