package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// accessLine is a line of the access log. Members that a line does not have
// are empty.
type accessLine struct {
	Msg, Method, Path, Remote, User string
	Status                          int
}

// who is what a line contains about its caller.
type who struct{ remote, user string }

func (l accessLine) who() who { return who{l.Remote, l.User} }

// accessLines are the lines of the access log of a server that has ended.
func (p *process) accessLines(t *testing.T) (lines []accessLine) {
	t.Helper()
	for text := range strings.Lines(p.output()) {
		var line accessLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Errorf("%v: %s", err, text)
		}
		if line.Msg == "request" {
			lines = append(lines, line)
		}
	}
	return lines
}

// The access log names a user once a form that carries names is found, or a
// list of forms. A failed login is logged with its address and without the
// name that was tried, whatever it asked for. All else has neither.
func TestWhoIsInTheAccessLog(t *testing.T) {
	t.Parallel()
	p := start(t, newSite(t))
	neither, address, named := who{}, who{remote: "127.0.0.1"}, who{remote: "127.0.0.1", user: "ann"}
	requests := []struct {
		password, method, path, body string
		status                       int
		logged                       who
	}{
		{"secret", "GET", "/vote", "", 200, neither},
		{"secret", "POST", "/vote/submission", ballot, 201, neither},
		{"secret", "POST", "/vote/submission", ballot, 400, neither}, // once only
		{"secret", "GET", "/vote/result", "", 200, neither},
		{"secret", "GET", "/nowhere", "", 404, neither},
		{"secret", "POST", "/nowhere/submission", ballot, 404, neither},
		{"secret", "DELETE", "/vote", "", 405, neither},
		{"secret", "DELETE", "/note", "", 405, neither},
		{"secret", "GET", "", "", 200, named},
		{"secret", "GET", "/note", "", 200, named},
		{"secret", "POST", "/note/submission", note("x"), 201, named},
		{"secret", "GET", "/note/submission/99", "", 404, named},
		{"wrong", "GET", "/vote", "", 401, address},
		{"wrong", "POST", "/vote/submission", ballot, 401, address},
		{"wrong", "GET", "/nowhere", "", 401, address},
		{"wrong", "GET", "/note", "", 401, address},
	}
	for _, r := range requests {
		got, err := p.callAs(t.Context(), "ann", r.password, r.method, r.path, r.body)
		if err != nil || got.status != r.status {
			t.Fatalf("%s %s: status %d, %v, want %d", r.method, r.path, got.status, err, r.status)
		}
	}
	repeatUntil(t, "the address is throttled", 20, func() {}, func() bool {
		r, err := p.callAs(t.Context(), "ann", "wrong", "GET", "/vote/submission", "")
		return err == nil && r.status == 429
	})
	if err := p.terminate(t); err != nil {
		t.Fatal(err)
	}

	lines := p.accessLines(t)
	for _, r := range requests {
		found := 0
		for _, line := range lines {
			if line.Method != r.method || line.Path != "/rest/forms/1.0/page/1/form"+r.path || line.Status != r.status {
				continue
			}
			found++
			if got := line.who(); got != r.logged {
				t.Errorf("%s %s, status %d: logged with %+v, want %+v", r.method, r.path, r.status, got, r.logged)
			}
		}
		if found != 1 {
			t.Errorf("%s %s, status %d: %d lines, want one:\n%s", r.method, r.path, r.status, found, p.output())
		}
	}
	throttled := slices.IndexFunc(lines, func(l accessLine) bool { return l.Status == 429 })
	if throttled < 0 || lines[throttled].who() != address {
		t.Errorf("what was throttled is not logged with its address only:\n%s", p.output())
	}
}
