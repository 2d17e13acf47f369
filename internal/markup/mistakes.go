package markup

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	valueStart = `(?:: +|^[ \t]*- +|[\[,] *)`
	quotedText = `("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')`
)

var (
	missingSpace     = regexp.MustCompile(`^[ \t]*(?:- +)?(form|anonymous|oneSubmission|fields|id|type|label|required|options|validate|help|accept|maxSize|showIf|section|title|view|edit|results):[^\s:]`)
	reserved         = regexp.MustCompile("(?:^[ \t]*|" + valueStart + ")([@%`][^\\s,\\]}]*)")
	unquotedColon    = regexp.MustCompile(`^[ \t]*(?:- +)?[\p{L}\p{N}_-]+: +([^\s"'|>{\[#&*!][^"']*?): `)
	textAfterQuote   = regexp.MustCompile(valueStart + quotedText + `([ \t]*)([^\s,\]}:#"'])`)
	textAfterBracket = regexp.MustCompile(`: +(\[[^\]]*\]|\{[^}]*\})[ \t]*[^\s,\]}#]`)
)

// commonMistake recognises frequent mistakes in a line that the parser refused.
func commonMistake(line string) (column int, message, hint string) {
	const longestLine = 1000 // the patterns take a microsecond for some bytes
	if len(line) > longestLine {
		return 0, "", ""
	}
	if tab := strings.IndexByte(line[:indentOf(line)], '\t'); tab >= 0 {
		return tab + 1, "a tab in the indentation", "indent with spaces"
	}
	if m := missingSpace.FindStringSubmatchIndex(line); m != nil {
		key := line[m[2]:m[3]]
		return columnAt(line, m[2]), fmt.Sprintf("no space after the colon of %q", key), fmt.Sprintf("write %q", key+": …")
	}
	if m := textAfterQuote.FindStringSubmatchIndex(line); m != nil {
		if line[m[2]] == '\'' && m[4] == m[5] {
			return columnAt(line, m[3]-1), "a single quote within single quotes", `write it twice, as in 'Don''t know', or use double quotes`
		}
		return columnAt(line, m[6]), "more text after the closing quote", "put all of it into quotes"
	}
	if m := textAfterBracket.FindStringSubmatchIndex(line); m != nil {
		return columnAt(line, m[2]), fmt.Sprintf("a value that begins with %q is a list or mapping", line[m[2]:m[2]+1]), "put it into quotes"
	}
	if m := unquotedColon.FindStringSubmatchIndex(line); m != nil {
		return columnAt(line, m[2]), "a text that contains a colon and a space", "put it into quotes"
	}
	if m := reserved.FindStringSubmatchIndex(line); m != nil {
		value := line[m[2]:m[3]]
		return columnAt(line, m[2]), fmt.Sprintf("a value can't begin with %q", value[:1]), fmt.Sprintf("put %s into quotes", quote(value))
	}
	return 0, "", ""
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

func columnAt(line string, at int) int { return utf8.RuneCountInString(line[:at]) + 1 }

var topLevelForm = regexp.MustCompile(`^([ \t]*)\{?[ \t]*(?:form|"form"|'form')[ \t]*:[ \t]*(.*)$`)

// guessFormID looks for the form's id in a text that is not YAML, so that the
// last good definition of that form stays in use.
func guessFormID(text string) string {
	top := -1
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		content := strings.TrimLeft(line, " \t")
		if content == "" || content[0] == '#' || strings.HasPrefix(content, "---") {
			continue
		}
		if top < 0 {
			top = indentOf(line)
		}
		m := topLevelForm.FindStringSubmatch(line)
		if m == nil || len(m[1]) > top {
			continue
		}
		id, _, _ := strings.Cut(m[2], " #")
		id, _, _ = strings.Cut(id, ",")
		id = strings.Trim(id, " \t\"'}")
		if checkID(id) != "" {
			return ""
		}
		return id
	}
	return ""
}
