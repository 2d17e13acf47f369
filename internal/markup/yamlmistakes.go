package markup

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// yamlMistake is something that authors do wrong. It is known by a part of the parser's message, and by the
// lines where the parser stopped: two lines before that one, and the line itself with a NUL where it stopped.
// The mistake is where the pattern's group begins. Without a group, it is where the key, quote, list or mapping
// begins that the parser was reading.
type yamlMistake struct {
	message string
	lines   *regexp.Regexp
	hint    string
}

func mistake(message, lines, hint string) yamlMistake {
	return yamlMistake{message, regexp.MustCompile(lines), hint}
}

const (
	entryHint  = `begin each entry of a list with "- "`
	columnHint = "let it begin in the same column as the keys above it"
)

// yamlMistakes are tried in this order.
var yamlMistakes = []yamlMistake{
	mistake("", `\x00(\t)`, "indent with spaces, not with tabs"),
	mistake("", `(?m)^[ \x00]*(-)[A-Za-z]`, "write a space after the dash"),
	mistake("", `(?m)^ *(?:- )?[A-Za-z]+(:)[^\s/\x00]`, "write a space after the colon"),
	mistake("mapping values", `\n *(\S[^:\n]*)\x00`, columnHint+", or put all of the text into quotes"),
	mistake("mapping values", "", "put a text that contains a colon and a space into quotes"),
	mistake("expected ':'", `(?m)(?:^ *- [^:\n]*|: *)\n\s*(\S[^\n]*)\n\s*\x00`, entryHint),
	mistake("expected ':'", "", `write "key: value"`),
	mistake("'-' indicator", `\x00(id|section|value|field)\b`, entryHint),
	mistake("expected ',' or", `(?s)[^\s,\[{] (#).*\x00`, `put the text into quotes: a comment begins with " #"`),
	mistake("expected ',' or", "", "close it, and put commas between values in brackets"),
	mistake("node content", `\x00(-)`, "write "+oneALine+", without brackets"),
	mistake("did not find expected", `\n *\x00(-)`, "let all dashes of a list begin in the same column"),
	mistake("'-' indicator", `\x00()`, columnHint),
	mistake("expected key", `\n *\x00()`, columnHint),
	mistake("expected key", `\x00()`, "put all of the text into quotes, of a kind that is not in it"),
	mistake("unexpected end of stream", "", "close the quotes that begin here"),
	mistake("cannot start any token", `\x00()`, "put a text that begins with @, % or ` into quotes"),
	mistake(" tag", `\x00()`, `put a text that begins with "!" into quotes`),
	mistake("unknown anchor", `\x00()`, `put a text that begins with "*" into quotes`),
	mistake("did not find expected", `\x00()`,
		"check the indentation, and whether brackets and quotes enclose all of the text"),
}

// reportYAML reports why a text is not YAML. The parser's own words help only where no hint is known.
func (p *reader) reportYAML(err error, text string, inText, locate func(line, column int) int) {
	var found *yaml.LoadError
	if !errors.As(err, &found) || found.Mark.Line < 1 {
		p.errorf(locate(1, 1), "", "this is not YAML: %v", err)
		return
	}
	mark := found.Mark
	before, stopped := inText(mark.Line-2, 1), inText(mark.Line, mark.Column)
	rest, _, _ := strings.Cut(text[stopped:], "\n")
	lines := text[before:stopped] + "\x00" + rest
	for _, m := range yamlMistakes {
		groups := m.lines.FindStringSubmatchIndex(lines)
		if groups == nil || !strings.Contains(found.Message, m.message) {
			continue
		}
		if found.ContextMark.Line > 0 {
			mark = found.ContextMark
		}
		if len(groups) > 2 {
			upTo := text[:min(before+groups[2], stopped)]
			mark.Line = 1 + strings.Count(upTo, "\n")
			mark.Column = 1 + utf8.RuneCountInString(upTo[1+strings.LastIndex(upTo, "\n"):])
		}
		p.errorf(locate(mark.Line, mark.Column), m.hint, "this is not YAML")
		return
	}
	p.errorf(locate(mark.Line, mark.Column), "", "this is not YAML: %s", found.Message)
}
