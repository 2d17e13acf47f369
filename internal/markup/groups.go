package markup

import (
	"regexp"
	"strings"
)

var (
	metaKey      = regexp.MustCompile(`^["']?[\p{L}_][^:\[\]{},]*:(?:\s|$)`)
	principalKey = regexp.MustCompile(`^["']?(?:view|edit)["']?[ \t]*:(?:\s|$)`)
)

// quoteGroups puts groups into quotes where they need them. YAML reserves "@"
// at the start of a value, but @hr is how a group is written here, and how
// every author will write it: `view: [@hr, alice]`, `- @hr`. So the values of
// view and edit are quoted before the YAML parser sees them. from is the
// text's offset on the page.
func quoteGroups(text string, from int) *excerpt {
	var q groupQuoter
	at := from
	for line := range strings.Lines(text) {
		if metaKey.MatchString(line) {
			q.value = principalKey.MatchString(line)
			q.depth = 0
		}
		if q.value {
			q.line(line, at)
		} else {
			q.add(line, at)
		}
		at += len(line)
	}
	return q.excerpt()
}

type groupQuoter struct {
	cutter
	value bool // within the value of view or edit
	depth int  // of brackets
}

// line copies a line of a value, and quotes what begins with "@" where a
// value can begin.
func (q *groupQuoter) line(line string, at int) {
	i := len(principalKey.FindString(line))
	if i == 0 && q.depth == 0 {
		i = len(line) - len(strings.TrimLeft(line, " -"))
	}
	copied := 0
	for i < len(line) {
		switch c := line[i]; {
		case c == ' ' || c == '\t' || c == ',' || c == '\n':
			i++
		case c == '[':
			q.depth++
			i++
		case c == ']':
			q.depth = max(0, q.depth-1)
			i++
		case c == '#':
			i = len(line)
		case c == '"' || c == '\'':
			i += quoted(line[i:])
		case c == '@':
			n := q.plain(line[i:])
			q.add(line[copied:i], at+copied)
			q.add("'"+strings.ReplaceAll(line[i:i+n], "'", "''")+"'", at+i)
			i += n
			copied = i
		default:
			i += max(1, q.plain(line[i:]))
		}
	}
	q.add(line[copied:], at+copied)
}

// quoted returns the length of the quoted text that s begins with. One that
// ends on another line is left to the YAML parser.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return len(s)
}

// plain returns the length of the unquoted value that s begins with.
func (q *groupQuoter) plain(s string) int {
	end := strings.IndexByte(s, '\n')
	if end < 0 {
		end = len(s)
	}
	if q.depth > 0 {
		if i := strings.IndexAny(s[:end], ",]["); i >= 0 {
			end = i
		}
	}
	if i := strings.Index(s[:end], " #"); i >= 0 {
		end = i
	}
	return len(strings.TrimRight(s[:end], " \t"))
}
