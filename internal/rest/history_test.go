package rest

import (
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

const decisionsPage = "---\ntitle: Leave\nedit: [alice]\n---\n" + "```yaml form\n" + `form: leave
withdraw: true
lockIf: {field: state, not-empty: true}
fields:
  - {id: days, type: textfield, label: Days}
  - {id: state, type: status, label: State, options: [granted, refused], by: editors}
  - {id: reason, type: textbox, label: Reason, by: editors}
` + "```\n"

// Package service decides. This is how it is answered.
func TestDecisions(t *testing.T) {
	e := newEnv(t, map[string]string{"1.md": decisionsPage})
	path, _ := e.create(t, "bob", form(1, "leave"), nestedBody("days", "3"))
	stale := headerOf("Content-Type", "application/json", "If-Match", `"stale"`)
	e.Clock.Advance(time.Minute)
	const locked = "Only editors can change it now."
	rows := testkit.Rows(strings.NewReplacer("RESULT", result(path), "PATH", path).Replace(`
		bob GET | PATH/history | | 200 | []
		bob PUT | RESULT | {"days":"4"} | 200 | "4"
		alice PUT | RESULT | {"state":"granted","reason":"Enjoy"} | 200 | granted
		bob PUT | RESULT | {"days":"5"} | 403 | LOCKED
		bob PUT | RESULT?validate=only | {"days":"5"} | 403 | LOCKED
		bob PUT | RESULT | {"unknown":"5"} | 403 | LOCKED
		bob PUT | RESULT | {"days":{}} | 403 | LOCKED
		bob PUT | RESULT | [] | 403 | LOCKED
		bob PUT | RESULT?validate=maybe | {} | 400 | validate
		bob PUT | RESULT | no JSON | 400 | "valid":false
		bob PUT | RESULT | {"days":"5" | 400 | "valid":false
		bob POST | PATH | {"fields":{}} | 403 | LOCKED
		bob DELETE | RESULT | | 403 | LOCKED
		carol DELETE | RESULT | | 404 |
		carol GET | PATH/history | | 404 |
		bob DELETE | PATH/history | | 403 | Only editors of this page may remove earlier values.
		bob GET | PATH/history | | 200 | [{"timestamp":"AT","username":"bob","changes":[{"fieldId":"days","before":"3","after":"4"}]},{"timestamp":"AT","username":"alice","changes":[{"fieldId":"state","before":"","after":"granted"}]}]
		alice GET | PATH/history | | 200 | {"fieldId":"reason","before":"","after":"Enjoy"}]}]
		alice DELETE | PATH/history | | 204 |
		bob GET | PATH/history | | 200 | [{"timestamp":"AT","username":"alice","changes":[]}]
		alice PUT | RESULT | {"state":""} | 200 | "state":""
	`))
	for _, row := range rows {
		text := strings.NewReplacer("LOCKED", locked, "AT", "2025-11-15T00:01:00.123+0000").Replace(row[4])
		e.expectText(t, row[3], ask(row[0], row[1], row[2]), text)
	}
	e.expect(t, 412, ask("alice DELETE", path+"/history").with(stale))
	e.expect(t, 412, ask("bob DELETE", result(path)).with(stale))
	e.expect(t, 412, ask("bob PUT", result(path), `{"days":"5"}`).with(stale))
	e.expect(t, 200, ask("alice PUT", result(path), `{"state":"refused"}`))
	e.expect(t, 403, ask("bob PUT", result(path), `{"days":"5"}`).with(stale))                            // before 412
	e.expect(t, 403, ask("bob PUT", result(path), "days=5").with(headerOf("Content-Type", "text/plain"))) // before 415
	e.expect(t, 200, ask("alice PUT", result(path), `{"state":""}`))
	e.expect(t, 204, ask("bob DELETE", result(path)))
	e.expect(t, 404, ask("bob GET", path+"/history"))
}
