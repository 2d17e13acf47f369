package markup

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlError is a syntax error in the terms of the block. Line is 0 when the
// parser does not say.
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

// parserErrors are messages of the YAML parser proper, which gives lines from
// 0; the scanner below it gives them from 1.
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

// searchable bounds the text that locate parses again to find lines at fault,
// for all blocks of a page together.
const searchable = 1 << 20

// locate improves the error's line. The parser names the line where a list or
// mapping began, when what its author needs is the line that does not fit
// into it. That is the last line of the shortest beginning of the text that
// fails alike: a parser that reads from the front can't fail earlier, and
// fails there whatever follows. searched counts what was parsed for it.
func (e *yamlError) locate(text string, searched *int) {
	collection := strings.HasSuffix(e.message, "expected key") || strings.HasSuffix(e.message, "'-' indicator")
	if e.line > 0 && !collection {
		return
	}
	e.line = max(e.line, 1)
	if name, ok := strings.CutPrefix(e.message, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		before, _, _ := strings.Cut(text, "*"+name)
		e.line = strings.Count(before, "\n") + 1
		return
	}
	if !collection {
		return
	}
	lines := strings.SplitAfter(text, "\n")
	low, high := 0, len(lines) // lines[:low] does not fail alike, lines[:high] does
	for high-low > 1 {
		middle := (low + high) / 2
		beginning := strings.Join(lines[:middle], "")
		if *searched += len(beginning); *searched > searchable {
			return
		}
		if _, err := parseYAML(beginning); err != nil && err.message == e.message {
			high = middle
		} else {
			low = middle
		}
	}
	e.line = high
}

// explain says an error in the words of someone who writes a page.
func (e *yamlError) explain() (message, hint string) {
	for _, x := range yamlMessages {
		if strings.Contains(e.message, x.parser) {
			return x.message, x.hint
		}
	}
	return "this is not YAML: " + e.message, ""
}

var yamlMessages = []struct{ parser, message, hint string }{
	{"mapping values are not allowed", "a colon stands where none can", `put a text that contains ": " into quotes, and check the indentation`},
	{"could not find expected ':'", "a colon is missing on this line or the one after", `write "key: value"`},
	{"did not find expected key", "this line fits neither into what stands above nor beside it", "indent it as far as its neighbours"},
	{"did not find expected '-' indicator", "this line fits neither into what stands above nor beside it", `begin it with "- ", or indent it as far as its neighbours`},
	{"did not find expected ',' or ']'", "this list is never closed, or a comma is missing in it", "write [a, b, c]"},
	{"did not find expected ',' or '}'", "this mapping is never closed, or a comma is missing in it", "write {a: 1, b: 2}"},
	{"did not find expected node content", "a value is missing, or a comma too many", ""},
	{"found unexpected end of stream", "this quote is never closed", ""},
	{"found character that cannot start any token", "a value can't begin like this", "put it into quotes"},
	{"alphabetic or numeric character", `a value can't begin with "&" or "*"`, "put it into quotes"},
	{"tab character", "a tab stands where only spaces can", "indent with spaces"},
	{"exceeded max depth", "lists and mappings are nested too deeply", ""},
	{"block sequence entries are not allowed", `"- " stands where no list can be`, "begin the list on a line of its own"},
	{"unknown escape character", "unknown escape in a quoted text", `use single quotes, or "\\\\" for a backslash`},
	{"unknown anchor", "an alias has no anchor", `put a text that begins with "*" into quotes`},
	{"second YAML document", "a second YAML document begins here", "write one form in a block"},
}
