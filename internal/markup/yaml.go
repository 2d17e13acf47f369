package markup

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// maxYAMLNesting is more than a form needs. The parser refuses a deeper text
// while it scans it: to build what it nests would take quadratic time.
const maxYAMLNesting = 20

// yamlLimits is a plugin of the parser. The decoder counts aliases.
type yamlLimits struct{}

func (yamlLimits) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > maxYAMLNesting {
		return fmt.Errorf("lists and mappings are nested more than %d deep", maxYAMLNesting)
	}
	return nil
}

func (yamlLimits) CheckAlias(_, _ int) error { return nil }

// parseYAML returns the root of the only document in a text, or nil when there
// is none. It reports why a text is not YAML, and returns false.
func (r *reporter) parseYAML(text string) (root *yaml.Node, ok bool) {
	if at, char, found := firstUnprintable(text); found {
		r.errorf(at, "delete it", "the text contains %s", describeRune(char))
		return nil, false
	}
	if strings.Count(text, ",")+strings.Count(text, "[")+strings.Count(text, "{") > nodeBudget {
		r.errorf(spot{1, 1}, "", "the text has more than %d commas and brackets", nodeBudget)
		return nil, false
	}
	loader, err := yaml.NewLoader(strings.NewReader(text), yaml.WithPlugin(yamlLimits{}))
	var first, second yaml.Node
	if err == nil {
		err = loader.Load(&first)
	}
	if errors.Is(err, io.EOF) {
		return nil, true
	}
	if err == nil {
		err = loader.Load(&second)
	}
	switch {
	case errors.Is(err, io.EOF):
		return first.Content[0], true
	case err != nil:
		r.reportYAML(text, err)
	default:
		r.errorf(spotOf(&second), "write one form in a block", "a second YAML document begins here")
	}
	return nil, false
}

// reportYAML explains why a text is not YAML. The parser stops at the first
// mistake. It names where it noticed the mistake, and where the list, mapping or
// text began that it was in.
func (r *reporter) reportYAML(text string, err error) {
	var e *yaml.LoadError
	if !errors.As(err, &e) || e.Mark.Line < 1 {
		r.errorf(spot{1, 1}, "", "this is not YAML: %v", err)
		return
	}
	lines := strings.Split(text, "\n")
	for _, n := range []int{e.Mark.Line, e.ContextMark.Line, e.Mark.Line - 1} {
		if n < 1 || n > len(lines) {
			continue
		}
		if column, message, hint := commonMistake(lines[n-1]); message != "" {
			r.errorf(spot{n, column}, hint, "%s", message)
			return
		}
	}
	at, start := spot{e.Mark.Line, e.Mark.Column}, spot{e.ContextMark.Line, e.ContextMark.Column}
	message := "this is not YAML: " + strings.TrimPrefix(e.ContextMsg+", ", ", ") + e.Message
	switch opening := characterAt(lines, start); {
	case e.Stage == yaml.ComposerStage:
		r.errorf(at, `put a text that begins with "*" into quotes`, "%s", message)
		return
	case slices.Contains([]string{`"`, "'", "[", "{"}, opening) && start.line != at.line:
		r.errorf(start, "close it, and put commas between values in brackets", "this %s is never closed", opening)
		return
	case at.line >= len(lines) && start.line >= at.line:
		r.errorf(at, "close all brackets and quotes", "the text ends too early: %s", e.Message)
		return
	case at.line >= len(lines) && opening != "":
		at = start
	}
	hint := ""
	if at.line <= len(lines) && at.col == indentOf(lines[at.line-1])+1 {
		hint = "check the indentation, and whether a bracket or quote above is never closed"
	}
	r.errorf(at, hint, "%s", message)
}

// characterAt returns the character at a spot, or "".
func characterAt(lines []string, at spot) string {
	if at.line < 1 || at.line > len(lines) {
		return ""
	}
	for i, r := range lines[at.line-1] {
		if at.col--; at.col == 0 {
			return lines[at.line-1][i : i+utf8.RuneLen(r)]
		}
	}
	return ""
}

func firstUnprintable(text string) (at spot, r rune, found bool) {
	i := strings.IndexFunc(text, func(r rune) bool { return !isPrintable(r) })
	if i < 0 {
		return spot{}, 0, false
	}
	start := strings.LastIndexByte(text[:i], '\n') + 1
	r, _ = utf8.DecodeRuneInString(text[i:])
	return spot{strings.Count(text[:i], "\n") + 1, utf8.RuneCountInString(text[start:i]) + 1}, r, true
}
