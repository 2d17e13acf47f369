package markup

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxYAMLNesting is more than a form needs. The parser refuses a deeper text
// while it scans it: to build what it nests would take quadratic time.
const maxYAMLNesting = 20

// maxNodes bounds the YAML nodes of a block, counting the target of an alias each
// time. A form of a thousand fields stays well below it.
const maxNodes = 50_000

// yamlLimits is a plugin of the parser. Aliases are counted when they are expanded.
type yamlLimits struct{}

func (yamlLimits) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > maxYAMLNesting {
		return fmt.Errorf("lists and mappings are nested more than %d deep", maxYAMLNesting)
	}
	return nil
}

func (yamlLimits) CheckAlias(_, _ int) error { return nil }

// parseYAML returns the root of the only document in a text, or nil if there is none.
// The columns of its nodes are offsets on the page. The text is that of the excerpt,
// character by character, with other spaces. A text that is not YAML is reported.
func (p *reader) parseYAML(text string, e *excerpt) *yaml.Node {
	locate := e.locator()
	if !p.checkPrintable(text, locate) {
		return nil
	}
	if strings.Count(text, ",")+strings.Count(text, "[")+strings.Count(text, "{") > maxNodes {
		p.errorf(locate(1, 1), "", "the text has more than %d commas and brackets", maxNodes)
		return nil
	}
	loader, err := yaml.NewLoader(strings.NewReader(text), yaml.WithPlugin(yamlLimits{}))
	var first, second yaml.Node
	if err == nil {
		err = loader.Load(&first)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		err = loader.Load(&second)
	}
	switch {
	case errors.Is(err, io.EOF):
		root := first.Content[0]
		setOffsets(root, locate)
		if p.expandAliases(root) {
			return root
		}
	case err != nil:
		p.reportYAML(err, locate)
	default:
		p.errorf(locate(second.Line, second.Column), "write one form in a block", "a second YAML document begins here")
	}
	return nil
}

func setOffsets(n *yaml.Node, locate func(line, column int) int) {
	n.Column = locate(n.Line, n.Column)
	for _, child := range n.Content {
		setOffsets(child, locate)
	}
}

// expandAliases replaces aliases by their targets, so that those who read the nodes meet
// none. What would be too large then is refused.
func (p *reader) expandAliases(root *yaml.Node) bool {
	nodes, textBytes := 0, 0
	var expand func(n *yaml.Node, depth int) bool
	expand = func(n *yaml.Node, depth int) bool {
		nodes++
		textBytes += len(n.Value)
		problem := ""
		switch {
		case depth > 2*maxYAMLNesting: // the parser allows less
			problem = "the target of an alias contains itself, or nests too deeply"
		case nodes > maxNodes:
			problem = fmt.Sprintf("the block has more than %d values, counting what aliases repeat", maxNodes)
		case textBytes > MaxDefinitionBytes:
			problem = fmt.Sprintf("the block has more than %d bytes of text, counting what aliases repeat", MaxDefinitionBytes)
		}
		if problem != "" {
			p.errorf(n.Column, "write out what an alias stands for", "%s", problem)
			return false
		}
		for i, child := range n.Content {
			if child.Kind == yaml.AliasNode {
				child = child.Alias
				child.Anchor = "" // what is left is used by none
				n.Content[i] = child
			}
			if !expand(child, depth+1) {
				return false
			}
		}
		return true
	}
	return expand(root, 1)
}

func (p *reader) checkPrintable(text string, locate func(line, column int) int) bool {
	line, column := 1, 1
	for _, c := range text {
		if !isPrintable(c) {
			p.errorf(locate(line, column), "delete it", "the text contains %s", describeRune(c))
			return false
		}
		if column++; c == '\n' {
			line, column = line+1, 1
		}
	}
	return true
}

// yamlHint is a hint for messages of the parser that contain a part.
type yamlHint struct {
	part, hint string
	atStart    bool // the mistake is where the key, quote, list or mapping begins, not where it is noticed
}

var yamlHints = []yamlHint{
	{"tab character", "indent with spaces", false},
	{"cannot start any token", "indent with spaces, and put a text that begins with @, % or ` into quotes", false},
	{"mapping values are not allowed", "put a text that contains a colon and a space into quotes, " +
		"and a space after the colon of each key", false},
	{"could not find expected ':'", `write "key: value", with a space after the colon`, true},
	{" tag", `put a text that begins with "!" into quotes`, false},
	{"unknown anchor", `put a text that begins with "*" into quotes`, false},
	{"expected ',' or", "close it, and put commas between values in brackets", true},
	{"unexpected end of stream", "close the quotes that begin here", true},
	{"did not find expected", "check the indentation, and whether brackets and quotes enclose all of the text", false},
}

// reportYAML reports why a text is not YAML.
func (p *reader) reportYAML(err error, locate func(line, column int) int) {
	var e *yaml.LoadError
	if !errors.As(err, &e) || e.Mark.Line < 1 {
		p.errorf(locate(1, 1), "", "this is not YAML: %v", err)
		return
	}
	at, hint := e.Mark, ""
	if i := slices.IndexFunc(yamlHints, func(h yamlHint) bool { return strings.Contains(e.Message, h.part) }); i >= 0 {
		hint = yamlHints[i].hint
		if yamlHints[i].atStart && e.ContextMark.Line > 0 {
			at = e.ContextMark
		}
	}
	p.errorf(locate(at.Line, at.Column), hint, "this is not YAML: %s", e.Message)
}
