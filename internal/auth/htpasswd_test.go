package auth

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/bcrypt"

	"github.com/formulary/formulary/internal/testkit"
)

func TestParseUsers(t *testing.T) {
	good := fakeHash("sesame", 4)
	words := strings.NewReplacer("GOOD", good, "OTHER", fakeHash("other", 12), "LONG", strings.Repeat("x", maxUserName+1),
		"PLAIN", "no bcrypt hash ($2a$, $2b$ or $2y$): MD5, SHA-1, crypt and plain text are not accepted")
	// What it is, the file, users as JSON, bad lines.
	for _, row := range testkit.EscapedRows(t, `empty | | {}
		comments and blank lines | # alice:GOOD\n\n \t\nalice:GOOD\n#\n | {"alice": "GOOD"}
		no newline at the end | alice:GOOD | {"alice": "GOOD"}
		CRLF | alice:GOOD\r\n\r\nbob:OTHER\r\n | {"alice": "GOOD", "bob": "OTHER"}
		byte order mark | \uFEFFalice:GOOD\n | {"alice": "GOOD"}
		byte order mark before a comment | \uFEFF# users\nalice:GOOD\n | {"alice": "GOOD"}
		names are bytes | a b:GOOD\nA B:GOOD\n é:GOOD\n | {"a b": "GOOD", "A B": "GOOD", " é": "GOOD"}
		the rest applies | old:$apr1$x$y\nalice:GOOD | {"alice": "GOOD"} | 1 old: PLAIN
		duplicate | alice:GOOD\nbob:GOOD\nalice:OTHER | {"alice": "GOOD", "bob": "GOOD"} | 3 alice: duplicate user, line 1 counts
		duplicate of a refused line | alice:plain\nalice:GOOD | {} | 1 alice: PLAIN | 2 alice: duplicate user, line 1 counts
		no colon | hunter2\n | {} | 1 : malformed line, not "user:hash"
		no name | :GOOD | {} | 1 : user name is empty
		a name that is too long | LONG:GOOD | {} | 1 LONG: user name is longer than 255 bytes
		invalid UTF-8 | al\xffice:GOOD | {} | 1 al\xffice: user name is not valid UTF-8
		control character | al\x07ice:GOOD | {} | 1 al\x07ice: user name contains a control character`) {
		for i := range row {
			row[i] = words.Replace(row[i])
		}
		users, bad := parseUsers([]byte(row[1]))
		hashes, want := map[string]string{}, map[string]string{}
		for user, h := range users {
			hashes[user] = h.hash
		}
		must(t, json.Unmarshal([]byte(row[2]), &want))
		wantParsed(t, row, want, hashes, bad)
	}
}

// wantParsed compares what was read from a file. The bad lines are those of a row from its fourth column on.
func wantParsed[T any](t *testing.T, row []string, want, got T, bad []badLine) {
	t.Helper()
	var lines []string
	for _, b := range bad {
		lines = append(lines, fmt.Sprintf("%d %s: %s", b.line, b.user, b.reason))
	}
	if diff := cmp.Diff(want, got); diff != "" || !slices.Equal(lines, row[3:]) {
		t.Errorf("%s: bad lines %q, others (-want +got):\n%s", row[0], lines, diff)
	}
}

func TestBcryptCost(t *testing.T) {
	body := strings.Repeat("a", 53)
	for _, prefix := range []string{"$2a$", "$2b$", "$2y$"} {
		for _, cost := range []int{4, 10, 16} {
			if got, err := bcryptCost(fmt.Sprintf("%s%02d$%s", prefix, cost, body)); got != cost || err != nil {
				t.Errorf("%s at cost %d: got %d, %v", prefix, cost, got, err)
			}
		}
	}
	words := strings.NewReplacer("BODY", body, "CUT", body[2:])
	for _, row := range testkit.EscapedRows(t, `$2a$17$BODY | cost 17
		$2a$03$BODY | malformed
		$2a$+9$BODY | malformed
		$2a$10$CUTa | malformed
		$2a$10$BODYa | malformed
		$2a$10$CUTa\x20 | malformed
		$2a$10$CUT=a | malformed
		$2a$10$CUTa\n | malformed
		$2a$10xBODY | malformed
		$2a$ | malformed
		$2x$10$BODY | no bcrypt hash
		$apr1$r31....$HqJZimcKQFAMYayBlzk | no bcrypt hash
		rqXexS6ZhobKA | no bcrypt hash
		hunter2 | no bcrypt hash
		| no bcrypt hash`) {
		if cost, err := bcryptCost(words.Replace(row[0])); err == nil || !strings.Contains(err.Error(), row[1]) {
			t.Errorf("%q: got cost %d and error %v", row, cost, err)
		}
	}
}

func TestDummyHashIsWellFormed(t *testing.T) {
	for cost := bcrypt.MinCost; cost <= maxCost; cost++ {
		if got, err := bcryptCost(dummyHash(cost)); got != cost || err != nil {
			t.Errorf("cost %d: got %d, %v", cost, got, err)
		}
	}
	// Anything else than a mismatch would mean that no work was done.
	testkit.ErrorIs(t, "comparing with the dummy", bcrypt.CompareHashAndPassword([]byte(dummyHash(4)), []byte("x")), bcrypt.ErrMismatchedHashAndPassword)
}

func TestRefusedLinesAreLoggedWithoutSecrets(t *testing.T) {
	f := newFixture(t, "# users\nold:$apr1$SECRET$SECRET\nplain:SECRETplain\nSECRETline\n"+userLine("alice", "sesame"),
		"staff alice\nadmins: alice\n")
	logs := f.logs.String()
	for _, want := range []string{"level=ERROR", f.users, "line=2", "user=old", "no bcrypt hash", "formulary passwd " + f.users + " USER", "line=3", "user=plain", "line=4", f.groups, "line=1"} {
		testkit.Contains(t, "the log does not mention", logs, want)
	}
	if strings.Contains(logs, "SECRET") {
		t.Errorf("the log has a secret:\n%s", logs)
	}
	f.wantLogin("alice", "sesame", home)
	f.wantBad("old", "SECRET", home)
	f.wantBad("plain", "SECRETplain", home)
}

func FuzzParseUsers(f *testing.F) {
	f.Add([]byte("alice:" + fakeHash("sesame", 4) + "\n# x\r\n\r\nbob:$apr1$x$y\n"))
	f.Add([]byte("\uFEFFal\xffice:\x00\n:::\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		users, bad := parseUsers(data)
		for user, h := range users {
			testkit.ErrorIs(t, user, checkUserName(user), nil)
			if cost, err := bcrypt.Cost([]byte(h.hash)); err != nil || cost != h.cost || cost > maxCost {
				t.Errorf("took the hash %q: %v", h.hash, err)
			}
			testkit.Contains(t, user, string(data), user+":"+h.hash)
		}
		said := 0
		for range textLines(data) {
			said++
		}
		if len(users)+len(bad) != said {
			t.Errorf("%d users and %d bad lines from %d lines", len(users), len(bad), said)
		}
	})
}
