package rest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testsite"
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
limit: 20
fields: [{id: name, type: textfield, label: Name}]
` + "```\n```yaml form\n" + `form: over
closes: 2025-11-15
fields: [{id: name, type: textfield, label: Name}]
` + "```\n"

func TestRules(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, on enginetest.Engine) {
		e := newEnvOn(t, on, map[string]string{"1.md": rulesPage})
		t.Run("fields", func(t *testing.T) { testFieldRules(t, e) })
		t.Run("limit", func(t *testing.T) { testLimitRule(t, e) })
		t.Run("changes", func(t *testing.T) { testChanges(t, e) })
		t.Run("closes", func(t *testing.T) { testCloses(t, e) })
	})
}

func testFieldRules(t *testing.T, e *env) {
	leave := form(1, "leave")
	path, _ := e.create(t, "bob", leave, nestedBody("last", "2025-11-16"))
	want := `"first":"2025-11-15","last":"2025-11-16","days":"","note":"","state":"asked","room":""`
	if got := e.get(t, "bob", result(path)); !strings.Contains(got, want) {
		t.Errorf("defaults: %s, want %s", got, want)
	}
	const editors = `"state":"is set by editors of this page only"`
	for _, tt := range []struct {
		name, user, method, path, body string
		status                         int
		want                           string
	}{
		{"bounds", "bob", "POST", leave + "/submission", nestedBody("first", "2025-11-14", "last", "2025-11-13", "days", "31", "note", "long"), 400, `{"valid":false,"fieldErrors":{` +
			`"days":"must be at most 30","first":"must not be before today (2025-11-15)",` +
			`"last":"must not be before First day (2025-11-14)","note":"must have at most 3 characters"},"errors":[]}`},
		{"empty in place of a default", "bob", "POST", leave + "/submission", nestedBody("last", "2025-11-16", "first", ""), 201, `"first":{"id":`},
		{"others grant", "bob", "POST", leave + "/submission", nestedBody("last", "2025-11-16", "state", "granted"), 400, editors},
		{"others empty", "bob", "POST", leave + "/submission", nestedBody("last", "2025-11-16", "state", ""), 400, editors},
		{"others send the default", "bob", "POST", leave + "/submission", nestedBody("last", "2025-11-16", "state", "asked"), 201, `"value":"asked"`},
		{"others grant later", "bob", "PUT", result(path), `{"state":"granted"}`, 400, editors},
		{"what was read is sent back", "bob", "PUT", result(path), e.get(t, "bob", result(path)), 200, `"state":"asked"`},
		{"the other field is sent", "bob", "PUT", result(path), `{"first":"2025-11-17"}`, 400, `{"last":"must not be before First day (2025-11-17)"}`},
		{"editors grant at once", "alice", "POST", leave + "/submission", nestedBody("last", "2025-11-16", "state", "granted"), 201, `"value":"1A"`},
		{"editors grant", "alice", "PUT", result(path), `{"state":"granted"}`, 200, `"state":"granted","room":""`},
	} {
		only := e.do(t, testRequest{user: tt.user, method: tt.method, path: tt.path + "?validate=only", body: tt.body})
		a := e.expect(t, tt.status, testRequest{user: tt.user, method: tt.method, path: tt.path, body: tt.body})
		if !strings.Contains(a.body, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, a.body, tt.want)
		}
		if tt.status == 400 && only.body != a.body || tt.status < 300 && only.body != validResult {
			t.Errorf("%s, validation only: %s", tt.name, only.body)
		}
	}
	if definition := e.get(t, "bob", leave); strings.Contains(definition, "editors") || strings.Contains(definition, "default") {
		t.Errorf("the definition has more members: %s", definition)
	}
}

// testLimitRule has the last place taken once, and freed by a delete.
func testLimitRule(t *testing.T, e *env) {
	const full = `{"valid":false,"fieldErrors":{},"errors":["this form is full: it takes 20 submissions"]}`
	seats := form(1, "seats")
	send := testRequest{user: "bob", method: "POST", path: seats + "/submission", body: nestedBody("name", "x")}
	keyed := send
	keyed.header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"mine"}}
	first := e.expect(t, 201, keyed).header.Get("Location")
	taken := 1
	for _, err := range storetest.Parallel(40, func(int) error {
		if a := e.do(t, send); a.status != 201 {
			return fmt.Errorf("%d %s", a.status, a.body)
		}
		return nil
	}) {
		switch {
		case err == nil:
			taken++
		case err.Error() != "400 "+full:
			t.Error(err)
		}
	}
	if taken != 20 {
		t.Errorf("%d were taken", taken)
	}
	only := send
	only.path += "?validate=only"
	if a := e.expect(t, 400, only); a.body != full {
		t.Errorf("validation only: %s", a.body)
	}
	if again := e.expect(t, 201, keyed); again.header.Get("Location") != first || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("a repeat: %v", again.header)
	}
	e.expect(t, 204, testRequest{user: "alice", method: "DELETE", path: result(first)})
	e.expect(t, 200, only)
	e.expect(t, 201, send)
	e.expect(t, 400, send)
}

// testChanges: Last-Modified and _changed are those of the creation until a value changes.
func testChanges(t *testing.T, e *env) {
	leave := form(1, "leave")
	path, id := e.create(t, "bob", leave, nestedBody("last", "2025-11-20"))
	modified := func() string {
		t.Helper()
		nested := e.expect(t, 200, testRequest{user: "bob", method: "GET", path: path})
		flat := e.expect(t, 200, testRequest{user: "bob", method: "HEAD", path: result(path)})
		unchanged := e.expect(t, 304, testRequest{user: "bob", method: "GET", path: path, header: http.Header{"If-None-Match": {nested.header.Get("Etag")}}})
		at := nested.header.Get("Last-Modified")
		if other := flat.header.Get("Last-Modified"); other != at || unchanged.header.Get("Last-Modified") != at {
			t.Errorf("last modified %q, %q and %q", at, other, unchanged.header.Get("Last-Modified"))
		}
		return at
	}
	const created = "Sat, 15 Nov 2025 00:00:00 GMT"
	e.Clock.Advance(20 * time.Hour)
	e.expect(t, 200, testRequest{user: "alice", method: "PUT", path: result(path), body: `{"last":"2025-11-20"}`})
	if at := modified(); at != created {
		t.Errorf("after an update that changes nothing: %s", at)
	}
	e.Clock.Advance(12 * time.Hour)
	e.expect(t, 200, testRequest{user: "alice", method: "PUT", path: result(path), body: `{"note":"ok"}`})
	if at := modified(); at != "Sun, 16 Nov 2025 08:00:00 GMT" {
		t.Errorf("after a change: %s", at)
	}
	mine := fmt.Sprintf(`"_id":"%d"`, id)
	for query, want := range map[string]bool{
		"filter[_changed]=2025-11-16": true, "filter[_changed]=2025-11-15": false,
		"filter[_timestamp]=2025-11-15": true, "filter[_timestamp]=2025-11-16": false,
		"filter[_timestamp][greater-than]=2025-11-15": false, "filter[_changed][greater-than]=2025-11-15": true,
		"filter[_changed][less-than]=2025-11-16": false, "filter[_changed][one-of]=2025-11-14;2025-11-16": true,
		"filter[_changed]=2025-11-16T08:00:00.123Z": true, "filter[_timestamp]=" + beganMillis: true,
	} {
		if got := strings.Contains(e.get(t, "alice", leave+"/result?"+query), mine); got != want {
			t.Errorf("%s: found %t", query, got)
		}
	}
	if first := e.get(t, "alice", leave+"/result?sort=-_changed&limit=1"); !strings.Contains(first, mine) {
		t.Errorf("the latest change: %s", first)
	}
	if table := e.get(t, "alice", leave+"/result?format=csv"); !strings.HasPrefix(table, "_id,_timestamp,_username,first,") {
		t.Errorf("columns: %s", clip(table))
	}
}

// testCloses leaves the clock behind the end of the form.
func testCloses(t *testing.T, e *env) {
	const closed = "this form has closed: it took submissions until the end of 2025-11-15 (UTC)"
	e.Clock.Set(testsite.Began)
	over := form(1, "over")
	send := testRequest{
		user: "bob", method: "POST", path: over + "/submission", body: nestedBody("name", "x"),
		header: http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"mine"}},
	}
	path := e.expect(t, 201, send).header.Get("Location")
	e.Clock.Advance(24 * time.Hour)
	for _, tt := range []struct {
		name, user, method, path, body string
		status                         int
		want                           string
	}{
		{"create by an editor", "alice", "POST", over + "/submission", nestedBody("name", "x"), 400, `{"valid":false,"fieldErrors":{},"errors":["` + closed + `"]}`},
		{"create what is invalid", "bob", "POST", over + "/submission", nestedBody("nope", "x"), 400, `{"valid":false,"fieldErrors":{},"errors":["` + closed + `"]}`},
		{"update", "bob", "PUT", result(path), `{"name":"y"}`, 400, `"errors":["` + closed + `. Only editors of this page may change submissions now"]`},
		{"update by an editor", "alice", "PUT", result(path), `{"name":"y"}`, 200, `"name":"y"`},
	} {
		only := e.do(t, testRequest{user: tt.user, method: tt.method, path: tt.path + "?validate=only", body: tt.body})
		a := e.expect(t, tt.status, testRequest{user: tt.user, method: tt.method, path: tt.path, body: tt.body})
		if !strings.Contains(a.body, tt.want) || tt.status == 400 && only.body != a.body {
			t.Errorf("%s: %s, validation only: %s", tt.name, a.body, only.body)
		}
	}
	if again := e.expect(t, 201, send); again.header.Get("Location") != path {
		t.Errorf("a repeat: %v", again.header)
	}
	send.path += "?validate=only"
	if a := e.expect(t, 200, send); a.body != validResult {
		t.Errorf("validation of a repeat: %s", a.body)
	}
	send.body = nestedBody("name", "other answers")
	e.expect(t, 422, send)
}
