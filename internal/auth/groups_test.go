package auth

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func TestParseGroups(t *testing.T) {
	// What it is, the file, groups as JSON, bad lines.
	for _, row := range testkit.EscapedRows(t, `empty | | {}
		plain | staff: alice bob\nadmins: bob\n | {"alice": ["staff"], "bob": ["admins", "staff"]}
		union of lines | staff: alice\nadmins: alice\nstaff: bob alice\n | {"alice": ["admins", "staff"], "bob": ["staff"]}
		comments, blank lines, CRLF, mark | \uFEFF# x: y\r\n\r\nstaff:alice\r\n | {"alice": ["staff"]}
		blanks | \x20staff \t:\talice   bob \n | {"alice": ["staff"], "bob": ["staff"]}
		no members | staff:\n | {}
		no colon | staff alice\nstaff: alice\n | {"alice": ["staff"]} | 1 : malformed line, not "group: user1 user2"
		no name | : alice\nstaff: alice\n | {"alice": ["staff"]} | 1 : group name is empty
		control character | st\x01aff: alice\nstaff: alice\n | {"alice": ["staff"]} | 1 : group name is not valid UTF-8 or contains a control character
		invalid UTF-8 | \nst\xffaff: alice\nstaff: alice\n | {"alice": ["staff"]} | 2 : group name is not valid UTF-8 or contains a control character
		bad member | staff: alice: bob\n | {} | 1 : user name contains ":"`) {
		want := map[string][]string{}
		must(t, json.Unmarshal([]byte(row[2]), &want))
		got, bad := parseGroups([]byte(row[1]))
		wantParsed(t, row, want, got, bad)
	}
}

func FuzzParseGroups(f *testing.F) {
	f.Add([]byte("staff: alice bob\n# x\r\nadmins:bob\nstaff: carol\n"))
	f.Add([]byte("\uFEFF:\n::\nx\n\xff: \x00\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		groupsOf, _ := parseGroups(data)
		for user, groups := range groupsOf {
			testkit.ErrorIs(t, user, checkUserName(user), nil)
			if len(groups) == 0 || slices.Contains(groups, "") || !slices.IsSorted(groups) {
				t.Errorf("%q is in %q", user, groups)
			}
		}
	})
}
