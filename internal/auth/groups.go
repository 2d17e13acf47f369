package auth

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parseGroups reads lines of "group: user1 user2" and returns the groups of
// each user, sorted. A group may have several lines. Names are separated by
// spaces and tabs, so a user with a space in the name cannot be in a group. A
// malformed line is left out whole: it is safer to grant too little.
func parseGroups(data []byte) (map[string][]string, []badLine) {
	groupsOf := make(map[string][]string)
	var bad []badLine
	for number, line := range textLines(data) {
		group, list, hasColon := strings.Cut(line, ":")
		group = strings.Trim(group, " \t")
		members := strings.FieldsFunc(list, func(r rune) bool { return r == ' ' || r == '\t' })
		if reason := groupLineFault(hasColon, group, members); reason != "" {
			bad = append(bad, badLine{line: number, reason: reason})
			continue
		}
		for _, user := range members {
			groupsOf[user] = append(groupsOf[user], group)
		}
	}
	for user, groups := range groupsOf {
		slices.Sort(groups)
		groupsOf[user] = slices.Compact(groups)
	}
	return groupsOf, bad
}

func groupLineFault(hasColon bool, group string, members []string) string {
	switch {
	case !hasColon:
		return `malformed line, not "group: user1 user2"`
	case group == "":
		return "group name is empty"
	case !utf8.ValidString(group), strings.ContainsFunc(group, unicode.IsControl):
		return "group name is not valid UTF-8 or contains a control character"
	}
	for _, user := range members {
		if err := checkUserName(user); err != nil {
			return err.Error()
		}
	}
	return ""
}
