package markup

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// reportYAML explains why a block is no YAML, at the line at fault.
func (b *block) reportYAML(text string, e *yamlError) {
	e.locate(text, &b.searched)
	lines := strings.Split(text, "\n")
	// Some errors show only when the next line is read, others name the line before.
	for _, n := range []int{e.line, e.line - 1, e.line + 1} {
		if n < 1 || n > len(lines) {
			continue
		}
		if col, message, hint := slip(lines[n-1]); message != "" {
			b.errorf(spot{n, col}, hint, "%s", message)
			return
		}
	}
	message, hint := e.explain()
	line := min(e.line, len(lines))
	if strings.TrimSpace(strings.Join(lines[line-1:], "")) == "" {
		message, hint = "the text ends here, inside a list or mapping", "close all brackets"
		for line > 1 && strings.TrimSpace(lines[line-1]) == "" {
			line--
		}
	}
	b.errorf(spot{line, indentOf(lines[line-1]) + 1}, hint, "%s", message)
}

var (
	gluedKey = regexp.MustCompile(`^[ \t]*(?:- +)?(form|anonymous|oneSubmission|fields|id|type|label|required|options|validate|showIf|section|title|view|edit|results):[^\s:]`)
	oddValue = regexp.MustCompile("(?:^[ \t]*|[:,\\[-] *)([@%`])")
	colonIn  = regexp.MustCompile(`^[ \t]*(?:- +)?[\p{L}\p{N}_-]+: +([^\s"'|>{\[#&*!][^"']*?): `)
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
	if m := colonIn.FindStringSubmatchIndex(line); m != nil {
		return column1(line, m[2]), "a text that contains a colon and a space", "put it into quotes"
	}
	if m := oddValue.FindStringSubmatchIndex(line); m != nil {
		return column1(line, m[2]), fmt.Sprintf("a value can't begin with %q", line[m[2]:m[3]]), "put it into quotes"
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
		if idProblem(id) != "" {
			return ""
		}
		return id
	}
	return ""
}
