package markup

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlError is a syntax error at a line of the block; 0 when the parser gives
// none.
type yamlError struct {
	line    int
	message string
}

// parseYAML returns the root of the only document in text, or nil when there is none.
func parseYAML(text string) (*yaml.Node, *yamlError) {
	d := yaml.NewDecoder(strings.NewReader(text))
	var document yaml.Node
	if err := d.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, newYAMLError(err)
	}
	root := document.Content[0]
	var second yaml.Node
	if err := d.Decode(&second); errors.Is(err, io.EOF) {
		return root, nil
	} else if err != nil {
		return nil, newYAMLError(err)
	}
	return nil, &yamlError{second.Line, "a second YAML document begins here"}
}

// parserErrors are messages of the YAML library's parser, which counts lines from
// 0. Its scanner counts them from 1.
var parserErrors = []string{
	"did not find expected <", "did not find expected node content", "did not find expected '-' indicator",
	"did not find expected key", "did not find expected ','", "found undefined tag handle", "found duplicate %",
}

func newYAMLError(err error) *yamlError {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	e := &yamlError{message: message}
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if number, text, ok := strings.Cut(rest, ": "); ok {
			e.line, _ = strconv.Atoi(number)
			e.message = text
		}
	}
	for _, p := range parserErrors {
		if strings.HasPrefix(e.message, p) {
			e.line++
		}
	}
	return e
}

// lineIn returns the line of the error, from 1. The parser names the line where a
// list or mapping begins; the author needs the line that does not fit into it.
func (e *yamlError) lineIn(lines []string) int {
	line := e.line
	switch name := e.missingAnchor(); {
	case name != "":
		line = 1 + slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "*"+name) })
	case strings.HasSuffix(e.message, "expected key"), strings.HasSuffix(e.message, "'-' indicator"):
		if n := misindentedLine(lines); n > 0 {
			line = n
		}
	}
	return min(max(line, 1), len(lines))
}

// missingAnchor is the name of an alias without an anchor, or "".
func (e *yamlError) missingAnchor() string {
	name, found := strings.CutPrefix(e.message, "unknown anchor '")
	if !found {
		return ""
	}
	name, _, _ = strings.Cut(name, "'")
	return name
}

// misindentedLine returns the first line that is indented less than the line
// above it, but not as far as any list or mapping around it; 0 if there is none.
func misindentedLine(lines []string) int {
	var open []int // the indentations of the lists and mappings around a line
	for i, line := range lines {
		content := strings.TrimLeft(line, " -")
		if content == "" || content[0] == '#' {
			continue
		}
		indent := indentOf(line)
		dedents := len(open) > 0 && indent < open[len(open)-1]
		for len(open) > 0 && open[len(open)-1] > indent {
			open = open[:len(open)-1]
		}
		if dedents && (len(open) == 0 || open[len(open)-1] != indent) {
			return i + 1
		}
		// A "- " begins a list, and the text after it may begin a mapping.
		for _, at := range []int{indent, len(line) - len(content)} {
			if len(open) == 0 || open[len(open)-1] < at {
				open = append(open, at)
			}
		}
	}
	return 0
}

// explain translates an error of the parser into words for page authors.
func (e *yamlError) explain() (message, hint string) {
	for _, x := range yamlMessages {
		if strings.Contains(e.message, x.parser) {
			return x.message, x.hint
		}
	}
	return "this is not YAML: " + e.message, ""
}

// unclosedQuote is the parser's message for a quoted text without an end.
const unclosedQuote = "found unexpected end of stream"

var yamlMessages = []struct{ parser, message, hint string }{
	{"mapping values are not allowed", "a colon is not allowed here", `put a text that contains ": " into quotes, and check the indentation`},
	{"could not find expected ':'", "a colon is missing on this line or the one after", `write "key: value"`},
	{"did not find expected key", "the indentation of this line does not match the lines above it", "indent it as far as its neighbours"},
	{"did not find expected '-' indicator", "the indentation of this line does not match the lines above it", `begin it with "- ", or indent it as far as its neighbours`},
	{"did not find expected ',' or ']'", "this list is never closed, or a comma is missing in it", "write [a, b, c]"},
	{"did not find expected ',' or '}'", "this mapping is never closed, or a comma is missing in it", "write {a: 1, b: 2}"},
	{"did not find expected node content", "a value is missing, or a comma too many", ""},
	{unclosedQuote, "this quote is never closed", ""},
	{"found character that cannot start any token", "a value can't begin like this", "put it into quotes"},
	{"alphabetic or numeric character", `a value can't begin with "&" or "*"`, "put it into quotes"},
	{"tab character", "a tab is not allowed here, only spaces", "indent with spaces"},
	{"exceeded max depth", "lists and mappings are nested too deeply", ""},
	{"block sequence entries are not allowed", `a list ("- ") is not allowed here`, "begin the list on a line of its own"},
	{"unknown escape character", "unknown escape in a quoted text", `use single quotes, or "\\\\" for a backslash`},
	{"unknown anchor", "an alias has no anchor", `put a text that begins with "*" into quotes`},
	{"expected <document start>", "this line does not belong to the form", "close the block before it, or indent it"},
	{"second YAML document", "a second YAML document begins here", "write one form in a block"},
}
