package auth

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
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
	words := strings.NewReplacer("MOST", many(maxGroups), "MANY", many(maxGroups+1), "LONG", strings.Repeat("s", maxUserName+1))
	// What it is, the lines of both headers as JSON, name and groups, or a part of the reason in the log.
	for line := range strings.Lines(`a user | ["alice"] | null | alice
an address | ["alice@example.org"] | [""] | alice@example.org
a name that files can have | ["CN=Älice Smith,O=x"] | null | CN=Älice Smith,O=x
groups | ["alice"] | ["staff, hr,,\thr ,Sales Team"] | alice | Sales Team,hr,staff
most groups | ["alice"] | ["MOST"] | alice
no header | null | ["hr"] |
an empty one | [""] | ["hr"] |
two | ["alice", "alice"] | null | | several headers X-User
two, one of them empty | ["", "alice"] | null | | several headers X-User
a colon | ["secret:er"] | null | | user name contains
a control character | ["secret\u0085"] | null | | control character
no UTF-8 | ["secretBYTE"] | null | | UTF-8
too long | ["LONG"] | null | | longer than 255
two lists of groups | ["secret"] | ["hr", "staff"] | | X-Groups: there are several
too many groups | ["secret"] | ["MANY"] | | more than 1000 groups
a long group | ["secret"] | ["LONG"] | | longer than 255
a control character in a group | ["secret"] | ["hr,a\u0085"] | | control character
no UTF-8 in a group | ["secret"] | ["hr,BYTE"] | | UTF-8
`) {
		columns := append(strings.Split(strings.TrimSpace(line), " |"), "")
		t.Run(columns[0], func(t *testing.T) {
			header := http.Header{}
			for i, name := range []string{"X-User", "X-Groups"} {
				var values []string
				must(t, json.Unmarshal([]byte(words.Replace(columns[i+1])), &values))
				for _, value := range values {
					header[name] = append(header[name], strings.ReplaceAll(value, "BYTE", "\xff"))
				}
			}
			want, more := strings.TrimSpace(columns[3]), strings.TrimSpace(columns[4])
			var log bytes.Buffer
			p := NewProxy("x-user", "x-groups", slog.New(slog.NewTextHandler(&log, nil)))
			r := httptest.NewRequest("GET", "/", nil)
			r.Header = header
			id, err := p.Identify(r)
			if id.Name != want || (err == nil) != (want != "") || err != nil && err != ErrNobody { //nolint:errorlint // that one alone
				t.Fatalf("%q, %v", id.Name, err)
			}
			logged := ""
			if want == "" {
				logged = more
			} else if more != "" && strings.Join(id.Groups, ",") != more {
				t.Errorf("groups %q", id.Groups)
			}
			if !strings.Contains(log.String(), logged) || (logged == "") != (log.Len() == 0) || strings.Contains(log.String(), "secret") {
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
	testkit.Same(t, "lines", strings.Count(log.String(), "\n"), 1)
}

// A group that nobody has had is unknown when enough users were seen, and at once if it comes as a path.
func TestGroupsThatNobodyHas(t *testing.T) {
	p := NewProxy("X-User", "X-Groups", slog.New(slog.DiscardHandler))
	r := httptest.NewRequest("GET", "/", nil)
	wants := func(user, groups, name, want string) {
		t.Helper()
		r.Header = http.Header{"X-User": {user}, "X-Groups": {groups}}
		must(t, testkit.ErrorOf(p.Identify(r)))
		if hint := p.UnknownName(name); !strings.Contains(hint, want) || (hint == "") != (want == "") {
			t.Errorf("%s, with %s of %s: %q", name, groups, user, hint)
		}
	}
	for range enoughUsers {
		wants("alice", "/hr", "@staff", "")
	}
	wants("alice", "/hr", "@hr", `the proxy sends "/hr"`)
	wants("bob", "hr", "@hr", "")
	for i := range enoughUsers {
		wants(fmt.Sprint("user", i), "it", "staff", "")
	}
	wants("alice", "it", "@staff", "nobody has had it since the start")
	wants("alice", "it,staff", "@staff", "")
	wants("alice", "it", "@staff", "")
	for i := range maxSeenGroups {
		wants("alice", fmt.Sprint("g", i), "@hr", "")
	}
	wants("alice", "", "@sales", "")
}
