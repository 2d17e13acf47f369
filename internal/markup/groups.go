package markup

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// gap is what spaced makes a space of, and other blanks.
const (
	gap      = `[\s\x{85}\x{a0}\x{2028}\x{2029}]`
	gapRunes = " \t\n\u0085\u00a0\u2028\u2029"
)

var (
	metaKey      = regexp.MustCompile(`^["']?[\p{L}_][^:\[\]{},]*:(?:` + gap + `|$)`)
	principalKey = regexp.MustCompile(`^["']?(?:view|edit)["']?` + gap + `*:(?:` + gap + `|$)`)
	comment      = regexp.MustCompile(gap + `#`)
)

// quoteGroups puts groups into quotes where they need them. YAML reserves "@"
// at the start of a value, but @hr is how a group is written here, and how
// every author will write it: `view: [@hr, alice]`, `- @hr`. So the values of
// view and edit are quoted before the YAML parser sees them. from is the
// text's offset on the page.
//
// The parser's text is that of the excerpt with odd spaces made plain ones,
// rune by rune, but for those inside the names of users and groups: names are
// compared byte for byte, and one name must not become another's.
func quoteGroups(text string, from int) (e *excerpt, parsed string) {
	var q groupQuoter
	at := from
	for line := range strings.Lines(text) {
		if metaKey.MatchString(line) {
			q.value = principalKey.MatchString(line)
			q.depth, q.open = 0, 0
		}
		if q.value {
			q.line(line, at)
		} else {
			q.between(line, at)
		}
		at += len(line)
	}
	return q.excerpt(), q.parsed.String()
}

type groupQuoter struct {
	cutter
	parsed strings.Builder // what the YAML parser sees
	value  bool            // within the value of view or edit
	depth  int             // of brackets
	open   byte            // the quote of a text that began on a line before, or 0
}

// between copies what is no name.
func (q *groupQuoter) between(text string, at int) {
	q.add(text, at)
	q.parsed.WriteString(spaced.Replace(text))
}

func (q *groupQuoter) name(text string, at int) {
	q.add(text, at)
	q.parsed.WriteString(text)
}

// line copies a line of a value, and quotes what begins with "@" where a
// value can begin.
func (q *groupQuoter) line(line string, at int) {
	i := len(principalKey.FindString(line))
	if i == 0 && q.depth == 0 && q.open == 0 {
		i = len(line) - len(strings.TrimLeft(line, gapRunes+"-"))
	}
	copied := 0
	for i < len(line) {
		n := q.token(line[i:])
		if n == 0 {
			i += q.skip(line[i:])
			continue
		}
		q.between(line[copied:i], at+copied)
		text := line[i : i+n]
		if text[0] == '@' && q.open == 0 {
			text = "'" + strings.ReplaceAll(text, "'", "''") + "'"
		}
		q.name(text, at+i)
		i += n
		copied = i
	}
	q.between(line[copied:], at+copied)
}

// skip returns the length of what stands between names at the start of s.
func (q *groupQuoter) skip(s string) int {
	switch s[0] {
	case '[':
		q.depth++
	case ']':
		q.depth = max(0, q.depth-1)
	case '#':
		return len(s)
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// token returns the length of the name that s begins with, or of what is
// written like one; 0 for none.
func (q *groupQuoter) token(s string) int {
	switch r, _ := utf8.DecodeRuneInString(s); {
	case q.open != 0:
		return q.quoted(s, 0)
	case strings.ContainsRune(gapRunes+",[]#", r):
		return 0
	case r == '"' || r == '\'':
		q.open = s[0]
		return q.quoted(s, 1)
	default:
		return q.plain(s)
	}
}

// quoted returns the length of the quoted text that s begins with, as far as
// it stands on this line. from is where to look for its end.
func (q *groupQuoter) quoted(s string, from int) int {
	for i := from; i < len(s); i++ {
		switch {
		case s[i] == '\\' && q.open == '"':
			i++
		case s[i] == q.open:
			q.open = 0
			return i + 1
		}
	}
	return len(s)
}

// plain returns the length of the unquoted value that s begins with.
func (q *groupQuoter) plain(s string) int {
	end := len(s)
	if q.depth > 0 {
		if i := strings.IndexAny(s, ",]["); i >= 0 {
			end = i
		}
	}
	if m := comment.FindStringIndex(s[:end]); m != nil {
		end = m[0]
	}
	return len(strings.TrimRight(s[:end], gapRunes))
}
