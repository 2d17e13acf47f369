package auth

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseGroups(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     map[string][]string
		bad      []string
	}{
		{"empty", "", map[string][]string{}, nil},
		{"plain", "staff: alice bob\nadmins: bob\n", map[string][]string{"alice": {"staff"}, "bob": {"admins", "staff"}}, nil},
		{"union of lines", "staff: alice\nadmins: alice\nstaff: bob alice\n", map[string][]string{"alice": {"admins", "staff"}, "bob": {"staff"}}, nil},
		{"comments, blank lines, CRLF, mark", "\uFEFF# x: y\r\n\r\nstaff:alice\r\n", map[string][]string{"alice": {"staff"}}, nil},
		{"blanks", " staff \t:\talice   bob \n", map[string][]string{"alice": {"staff"}, "bob": {"staff"}}, nil},
		{"no members", "staff:\n", map[string][]string{}, nil},
		{"the rest applies", "staff alice\n: alice\nst\x01aff: alice\nst\xffaff: alice\nstaff: alice\n", map[string][]string{"alice": {"staff"}}, []string{
			`1 : malformed line, not "group: user1 user2"`,
			"2 : group name is empty",
			"3 : group name is not valid UTF-8 or contains a control character",
			"4 : group name is not valid UTF-8 or contains a control character",
		}},
		{"bad member", "staff: alice: bob\n", map[string][]string{}, []string{`1 : user name contains ":"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, bad := parseGroups([]byte(tt.in))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.bad, badLineTexts(bad)); diff != "" {
				t.Errorf("bad lines (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseGroups(f *testing.F) {
	f.Add([]byte("staff: alice bob\n# x\r\nadmins:bob\nstaff: carol\n"))
	f.Add([]byte("\uFEFF:\n::\nx\n\xff: \x00\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		groupsOf, _ := parseGroups(data)
		for user, groups := range groupsOf {
			if err := checkUserName(user); err != nil {
				t.Errorf("took %q: %v", user, err)
			}
			if len(groups) == 0 || slices.Contains(groups, "") || !slices.IsSorted(groups) {
				t.Errorf("%q is in %q", user, groups)
			}
		}
	})
}
