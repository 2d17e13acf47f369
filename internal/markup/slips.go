package markup

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// reportYAML explains why a text is no YAML. The parser stops at the first
// fault, so the fields are read again one by one: each has its own message.
func (b *block) reportYAML(text string, err *yamlError) {
	reported := false
	for i, part := range splitFields(text) {
		if i > MaxFields || b.full() {
			break
		}
		_, fault := parseYAML(part.text)
		if fault == nil || fault.missingAnchor() != "" { // it may stand in another field
			continue
		}
		b.reportFault(part, fault)
		reported = true
	}
	if !reported {
		b.reportFault(part{0, text}, err)
	}
}

// part is some lines of a text.
type part struct {
	before int // how many lines stand before it
	text   string
}

// fieldStart matches the first line of a field or section in a list.
var fieldStart = regexp.MustCompile(`^[ \t]*- *(?:\{|(?:id|type|label|required|options|validate|help|accept|maxSize|showIf|section|fields)[ \t]*:)`)

// splitFields cuts a text before each line that begins a field or section.
func splitFields(text string) []part {
	var parts []part
	start, before, at, number := 0, 0, 0, 0
	for line := range strings.Lines(text) {
		if at > start && fieldStart.MatchString(line) {
			parts = append(parts, part{before, text[start:at]})
			start, before = at, number
		}
		at += len(line)
		number++
	}
	return append(parts, part{before, text[start:]})
}

func (b *block) reportFault(p part, e *yamlError) {
	lines := strings.Split(p.text, "\n")
	line := e.lineIn(lines)
	// The parser may name the line after the one at fault, or one before it.
	near := []int{line, line - 1, line + 1}
	for n := range lines {
		near = append(near, n+1)
	}
	for _, n := range near {
		if n < 1 || n > len(lines) {
			continue
		}
		if column, message, hint := slip(lines[n-1]); message != "" {
			b.errorf(spot{p.before + n, column}, hint, "%s", message)
			return
		}
	}
	message, hint := e.explain()
	if strings.TrimSpace(strings.Join(lines[line-1:], "")) == "" {
		if e.message != unclosedQuote {
			message, hint = "the text ends here, inside a list or mapping", "close all brackets"
		}
		for line > 1 && strings.TrimSpace(lines[line-1]) == "" {
			line--
		}
	}
	b.errorf(spot{p.before + line, indentOf(lines[line-1]) + 1}, hint, "%s", message)
}

const (
	valueStart = `(?:: +|^[ \t]*- +|[\[,] *)`
	quotedText = `("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')`
)

var (
	gluedKey  = regexp.MustCompile(`^[ \t]*(?:- +)?(form|anonymous|oneSubmission|fields|id|type|label|required|options|validate|help|accept|maxSize|showIf|section|title|view|edit|results):[^\s:]`)
	reserved  = regexp.MustCompile("(?:^[ \t]*|" + valueStart + ")([@%`][^\\s,\\]}]*)")
	colonIn   = regexp.MustCompile(`^[ \t]*(?:- +)?[\p{L}\p{N}_-]+: +([^\s"'|>{\[#&*!][^"']*?): `)
	textAfter = regexp.MustCompile(valueStart + quotedText + `([ \t]*)([^\s,\]}:#"'])`)
	bracketed = regexp.MustCompile(`: +(\[[^\]]*\]|\{[^}]*\})[ \t]*[^\s,\]}#]`)
)

// slip recognises what people get wrong most often in a line that the parser
// stumbled over.
func slip(line string) (column int, message, hint string) {
	if tab := strings.IndexByte(line[:indentOf(line)], '\t'); tab >= 0 {
		return tab + 1, "a tab in the indentation", "indent with spaces"
	}
	if m := gluedKey.FindStringSubmatchIndex(line); m != nil {
		key := line[m[2]:m[3]]
		return column1(line, m[2]), fmt.Sprintf("no space after the colon of %q", key), fmt.Sprintf("write %q", key+": …")
	}
	if m := textAfter.FindStringSubmatchIndex(line); m != nil {
		if line[m[2]] == '\'' && m[4] == m[5] {
			return column1(line, m[3]-1), "a single quote within single quotes", `write it twice, as in 'Don''t know', or use double quotes`
		}
		return column1(line, m[6]), "more text after the closing quote", "put all of it into quotes"
	}
	if m := bracketed.FindStringSubmatchIndex(line); m != nil {
		return column1(line, m[2]), fmt.Sprintf("a value that begins with %q is a list or mapping", line[m[2]:m[2]+1]), "put it into quotes"
	}
	if m := colonIn.FindStringSubmatchIndex(line); m != nil {
		return column1(line, m[2]), "a text that contains a colon and a space", "put it into quotes"
	}
	if m := reserved.FindStringSubmatchIndex(line); m != nil {
		value := line[m[2]:m[3]]
		return column1(line, m[2]), fmt.Sprintf("a value can't begin with %q", value[:1]), fmt.Sprintf("put %s into quotes", quote(value))
	}
	return 0, "", ""
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

func column1(line string, at int) int { return utf8.RuneCountInString(line[:at]) + 1 }

var topLevelForm = regexp.MustCompile(`^([ \t]*)\{?[ \t]*(?:form|"form"|'form')[ \t]*:[ \t]*(.*)$`)

// guessFormID looks for the form's id in a text that is no YAML, so that the
// last good definition of that form can stay.
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
