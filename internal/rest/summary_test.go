package rest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/testkit"
)

// How it is computed is tested in package forms, and this is how it is written.
func TestSummary(t *testing.T) {
	e := newEnv(t, map[string]string{"1.md": "```form\nform: f\nfields:\n  - {id: text, type: textfield}\n  - {id: n, type: textfield, validate: numeric}\n" +
		"  - {id: size, type: dropdown, options: [S, M]}\n```\n"})
	path := form(1, "f")
	for _, pairs := range [][]string{{"text", "a", "n", "1", "size", "S"}, {"n", "1", "size", "S"}, {"text", " "}} {
		e.create(t, "alice", path, nestedBody(pairs...))
		e.Clock.Advance(24 * time.Hour)
	}
	for query, want := range map[string]string{
		"": `{"count":3,"first":"2025-11-15T00:00:00.123+0000","last":"2025-11-17T00:00:00.123+0000",` +
			`"days":[{"day":"2025-11-15","count":1},{"day":"2025-11-16","count":1},{"day":"2025-11-17","count":1}],` +
			`"fields":{"text":{"answered":1},"n":{"answered":2,"min":1,"max":1,"mean":1,"sum":2,"bins":[{"from":1,"to":2,"count":2}]},` +
			`"size":{"answered":2,"options":[{"value":"S","count":2},{"value":"M","count":0}]}}}`,
		"?filter[size]=M": `{"count":0,"first":null,"last":null,"days":[],"fields":{"text":{"answered":0},` +
			`"n":{"answered":0,"min":null,"max":null,"mean":null,"sum":null,"bins":[]},"size":{"answered":0,"options":[{"value":"S","count":0},{"value":"M","count":0}]}}}`,
		"?by=size&filter[_timestamp][between]=2025-11-16;": `{"count":2,"first":"2025-11-16T00:00:00.123+0000","last":"2025-11-17T00:00:00.123+0000",` +
			`"days":[{"day":"2025-11-16","count":1},{"day":"2025-11-17","count":1}],` +
			`"fields":{"text":{"answered":0},"n":{"answered":1,"min":1,"max":1,"mean":1,"sum":1,"bins":[{"from":1,"to":2,"count":1}]},` +
			`"size":{"answered":1,"options":[{"value":"S","count":1},{"value":"M","count":0}]}},` +
			`"groups":[{"value":"S","count":1,"fields":{"text":{"answered":0},"n":{"answered":1,"mean":1,"sum":1},` +
			`"size":{"answered":1,"options":[{"value":"S","count":1},{"value":"M","count":0}]}}},` +
			`{"value":"","count":1,"fields":{"text":{"answered":0},"n":{"answered":0,"mean":null,"sum":null},` +
			`"size":{"answered":0,"options":[{"value":"S","count":0},{"value":"M","count":0}]}}}]}`,
		"?filter[size]=S&q=a": `{"count":1,"first":"2025-11-15T00:00:00.123+0000","last":"2025-11-15T00:00:00.123+0000","days":[{"day":"2025-11-15","count":1}],` +
			`"fields":{"text":{"answered":1},"n":{"answered":1,"min":1,"max":1,"mean":1,"sum":1,"bins":[{"from":1,"to":2,"count":1}]},` +
			`"size":{"answered":1,"options":[{"value":"S","count":1},{"value":"M","count":0}]}}}`,
	} {
		testkit.Same(t, query, e.get(t, "alice", path+"/summary"+query), want)
	}
	testkit.Same(t, "groups of nothing", pick(t, e.get(t, "alice", path+"/summary?by=size&q=nowhere"), "groups"), "[]")
	for _, by := range []string{"", "n", "nowhere", "_username", "size&by=size"} {
		e.expect(t, 400, ask("alice GET", path+"/summary?by="+by))
	}
}

// TestLargeSummaries count as large answers, and are refused if there are too many figures.
func TestLargeSummaries(t *testing.T) {
	large := "```form\nform: large\nfields:\n  - {id: by, type: radio, options: [a, b, c, d, e, f, g]}\n"
	for i := range 800 {
		large += fmt.Sprintf("  - {id: f%d, type: checkbox, options: [%s]}\n", i, strings.Join(strings.Split("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR", ""), ","))
	}
	small := "```\n\n```form\nform: small\nfields:\n  - {id: by, type: radio, options: [a, b, c]}\n```\n"
	e := newEnv(t, map[string]string{"1.md": large + small}, func(o *request.Options) { o.Limits.LargeBodiesPerUser = 1 })
	for _, by := range strings.Fields("a b c d e f g") {
		e.create(t, "alice", form(1, "large"), nestedBody("by", by))
	}
	path := form(1, "large") + "/summary"
	e.get(t, "alice", path)
	a := e.expect(t, 400, ask("alice GET", path+"?by=by"))
	if !strings.Contains(a.body, "too many figures") {
		t.Error(a.body)
	}
	c := e.api.NewCall(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), auth.Identity{Name: "alice"})
	testkit.Must(t, c.HoldBody())
	defer c.End()
	e.refused(t, 429, ask("alice GET", path))
	e.get(t, "alice", form(1, "small")+"/summary?by=by")
}
