package auth

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// many are the names of n groups.
func many(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("g", i)
	}
	return strings.Join(names, ",")
}

func TestProxyNamesTheUser(t *testing.T) {
	for _, test := range []struct {
		name         string
		user, groups []string // lines of the headers
		want         string   // "" for nobody
		wantGroups   []string
		logged       string // a part of the reason
	}{
		{"a user", []string{"alice"}, nil, "alice", nil, ""},
		{"an address", []string{"alice@example.org"}, []string{""}, "alice@example.org", nil, ""},
		{"a name that files can have", []string{"CN=Älice Smith,O=x"}, nil, "CN=Älice Smith,O=x", nil, ""},
		{"groups", []string{"alice"}, []string{"staff, hr,,\thr ,Sales Team"}, "alice", []string{"Sales Team", "hr", "staff"}, ""},
		{"most groups", []string{"alice"}, []string{many(maxGroups)}, "alice", nil, ""},

		{"no header", nil, []string{"hr"}, "", nil, ""},
		{"an empty one", []string{""}, []string{"hr"}, "", nil, ""},
		{"two", []string{"alice", "alice"}, nil, "", nil, "several headers X-User"},
		{"two, one of them empty", []string{"", "alice"}, nil, "", nil, "several headers X-User"},
		{"a colon", []string{"secret:er"}, nil, "", nil, "user name contains"},
		{"a control character", []string{"secret\u0085"}, nil, "", nil, "control character"},
		{"no UTF-8", []string{"secret\xff"}, nil, "", nil, "UTF-8"},
		{"too long", []string{strings.Repeat("s", maxUserName+1)}, nil, "", nil, "longer than 255"},
		{"two lists of groups", []string{"secret"}, []string{"hr", "staff"}, "", nil, "X-Groups: there are several"},
		{"too many groups", []string{"secret"}, []string{many(maxGroups + 1)}, "", nil, "more than 1000 groups"},
		{"a long group", []string{"secret"}, []string{strings.Repeat("g", maxGroupName+1)}, "", nil, "longer than 255"},
		{"a control character in a group", []string{"secret"}, []string{"hr,a\u0085"}, "", nil, "control character"},
		{"no UTF-8 in a group", []string{"secret"}, []string{"hr,\xff"}, "", nil, "UTF-8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			p := NewProxy("x-user", "x-groups", slog.New(slog.NewTextHandler(&log, nil)))
			r := httptest.NewRequest("GET", "/", nil)
			r.Header = http.Header{"X-User": test.user, "X-Groups": test.groups}
			id, err := p.Identify(r)
			if id.Name != test.want || (err == nil) != (test.want != "") || err != nil && err != ErrNobody { //nolint:errorlint // that one alone
				t.Fatalf("%q, %v", id.Name, err)
			}
			if test.wantGroups != nil && !slices.Equal(id.Groups, test.wantGroups) {
				t.Errorf("groups %q", id.Groups)
			}
			if !strings.Contains(log.String(), test.logged) || (test.logged == "") != (log.Len() == 0) || strings.Contains(log.String(), "secret") {
				t.Errorf("log: %s", &log)
			}
			if again, err := p.Refresh(id); err != nil || again.Name != id.Name || !slices.Equal(again.Groups, id.Groups) {
				t.Errorf("after the body: %v, %v", again, err)
			}
		})
	}
}

// A client that could choose groups would be in all of them.
func TestGroupsNeedAHeaderOfTheirOwn(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.Header = http.Header{"X-User": {"alice"}, "X-Groups": {"hr"}, "": {"hr"}}
	if id, err := NewProxy("X-User", "", slog.New(slog.DiscardHandler)).Identify(r); err != nil || len(id.Groups) != 0 {
		t.Errorf("%v, %v", id, err)
	}
}

// A proxy that is set up wrong does not fill the log.
func TestProxyComplainsOnceInAWhile(t *testing.T) {
	var log bytes.Buffer
	p := NewProxy("X-User", "", slog.New(slog.NewTextHandler(&log, nil)))
	r := httptest.NewRequest("GET", "/", nil)
	r.Header["X-User"] = []string{"a:b"}
	for range 100 {
		if _, err := p.Identify(r); err == nil {
			t.Fatal("accepted")
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines", n)
	}
}
