package auth

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/bcrypt"
)

func TestParseUsers(t *testing.T) {
	good := fakeHash("sesame", 4)
	other := fakeHash("other", 12)
	for _, tt := range []struct {
		name, in string
		want     map[string]string
		bad      []string // "line user: reason"
	}{
		{"empty", "", nil, nil},
		{"comments and blank lines", "# alice:" + good + "\n\n \t\nalice:" + good + "\n#\n", map[string]string{"alice": good}, nil},
		{"no newline at the end", "alice:" + good, map[string]string{"alice": good}, nil},
		{"CRLF", "alice:" + good + "\r\n\r\nbob:" + other + "\r\n", map[string]string{"alice": good, "bob": other}, nil},
		{"byte order mark", "\uFEFFalice:" + good + "\n", map[string]string{"alice": good}, nil},
		{"byte order mark before a comment", "\uFEFF# users\nalice:" + good + "\n", map[string]string{"alice": good}, nil},
		{"names are bytes", "a b:" + good + "\nA B:" + good + "\n é:" + good + "\n", map[string]string{"a b": good, "A B": good, " é": good}, nil},
		{
			"the rest applies", "old:$apr1$x$y\nalice:" + good,
			map[string]string{"alice": good},
			[]string{"1 old: no bcrypt hash ($2a$, $2b$ or $2y$): MD5, SHA-1, crypt and plain text are not accepted"},
		},
		{
			"duplicate", "alice:" + good + "\nbob:" + good + "\nalice:" + other,
			map[string]string{"alice": good, "bob": good},
			[]string{"3 alice: duplicate user, line 1 counts"},
		},
		{
			"duplicate of a refused line", "alice:plain\nalice:" + good, nil,
			[]string{"1 alice: no bcrypt hash ($2a$, $2b$ or $2y$): MD5, SHA-1, crypt and plain text are not accepted", "2 alice: duplicate user, line 1 counts"},
		},
		{"no colon", "hunter2\n", nil, []string{`1 : malformed line, not "user:hash"`}},
		{"no name", ":" + good, nil, []string{"1 : user name is empty"}},
		{"a name that is too long", strings.Repeat("x", maxUserName+1) + ":" + good, nil, []string{"1 " + strings.Repeat("x", maxUserName+1) + ": user name is longer than 255 bytes"}},
		{"invalid UTF-8", "al\xffice:" + good, nil, []string{"1 al\xffice: user name is not valid UTF-8"}},
		{"control character", "al\x07ice:" + good, nil, []string{"1 al\x07ice: user name contains a control character"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			users, bad := parseUsers([]byte(tt.in))
			var got map[string]string
			for user, h := range users {
				if got == nil {
					got = make(map[string]string)
				}
				got[user] = h.hash
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("users (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.bad, badLineTexts(bad)); diff != "" {
				t.Errorf("bad lines (-want +got):\n%s", diff)
			}
		})
	}
}

func badLineTexts(bad []badLine) (texts []string) {
	for _, b := range bad {
		texts = append(texts, fmt.Sprintf("%d %s: %s", b.line, b.user, b.reason))
	}
	return texts
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
	for hash, want := range map[string]string{
		"$2a$17$" + body:                    "cost 17",
		"$2a$03$" + body:                    "malformed",
		"$2a$+9$" + body:                    "malformed",
		"$2a$10$" + body[1:]:                "malformed",
		"$2a$10$" + body + "a":              "malformed",
		"$2a$10$" + body[1:] + " ":          "malformed",
		"$2a$10$" + body[2:] + "=a":         "malformed",
		"$2a$10$" + body[1:] + "\n":         "malformed",
		"$2a$10x" + body:                    "malformed",
		"$2a$":                              "malformed",
		"$2x$10$" + body:                    "no bcrypt hash",
		"$apr1$r31....$HqJZimcKQFAMYayBlzk": "no bcrypt hash",
		"rqXexS6ZhobKA":                     "no bcrypt hash",
		"hunter2":                           "no bcrypt hash",
		"":                                  "no bcrypt hash",
	} {
		cost, err := bcryptCost(hash)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got cost %d and error %v, want one about %q", hash, cost, err, want)
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
	if err := bcrypt.CompareHashAndPassword([]byte(dummyHash(4)), []byte("x")); !errors.Is(err, bcrypt.ErrMismatchedHashAndPassword) {
		t.Errorf("comparing with the dummy: got %v", err)
	}
}

func TestRefusedLinesAreLoggedWithoutSecrets(t *testing.T) {
	f := newFixture(t, "# users\nold:$apr1$SECRET$SECRET\nplain:SECRETplain\nSECRETline\n"+userLine("alice", "sesame"),
		"staff alice\nadmins: alice\n")
	logs := f.logs.String()
	for _, want := range []string{"level=ERROR", f.users, "line=2", "user=old", "no bcrypt hash", "formulary passwd " + f.users + " USER", "line=3", "user=plain", "line=4", f.groups, "line=1"} {
		if !strings.Contains(logs, want) {
			t.Errorf("the log does not mention %q:\n%s", want, logs)
		}
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
			if err := checkUserName(user); err != nil {
				t.Errorf("took %q: %v", user, err)
			}
			if cost, err := bcrypt.Cost([]byte(h.hash)); err != nil || cost != h.cost || cost > maxCost {
				t.Errorf("took the hash %q: %v", h.hash, err)
			}
			if !strings.Contains(string(data), user+":"+h.hash) {
				t.Errorf("%q has a hash that is not in the file", user)
			}
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
