package markup

import (
	"errors"
	"fmt"
	"io"
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
	inText, inExcerpt := locator(text), locator(e.text())
	locate := func(line, column int) int { return e.pageOffset(inExcerpt(line, column)) }
	if !p.checkPrintable(text, locate) {
		return nil
	}
	if hasManyMarks(text) {
		p.errorf(locate(1, 1), "", "the text has more than %d commas and brackets", maxNodes)
		return nil
	}
	first, second, err := loadYAML(text)
	switch {
	case err != nil:
		p.reportYAML(err, text, inText, locate)
	case second != nil:
		p.errorf(locate(second.Line, second.Column), "write one form in a block", "a second YAML document begins here")
	case first != nil:
		root := first.Content[0]
		p.setOffsets(root, locate, func(n *yaml.Node) bool {
			return !strings.HasPrefix(text[inText(n.Line, n.Column):], n.Value)
		})
		if p.expandAliases(root) {
			return root
		}
	}
	return nil
}

// loadYAML returns the first two documents of a text, or nil where there is none. It expands no aliases.
func loadYAML(text string) (first, second *yaml.Node, err error) {
	loader, err := yaml.NewLoader(strings.NewReader(text), yaml.WithPlugin(yamlLimits{}))
	for _, document := range []**yaml.Node{&first, &second} {
		var n yaml.Node
		if err == nil {
			err = loader.Load(&n)
		}
		if errors.Is(err, io.EOF) {
			return first, second, nil
		}
		*document = &n
	}
	return first, second, err
}

// hasManyMarks reports whether a text may have too many nodes. It is fast, and parsing is not.
func hasManyMarks(text string) bool {
	return strings.Count(text, ",")+strings.Count(text, "[")+strings.Count(text, "{") > maxNodes
}

// setOffsets makes columns offsets on the page. YAML joins a plain text that runs over several lines with spaces:
// in brackets, these are probably several options.
func (p *reader) setOffsets(n *yaml.Node, locate func(line, column int) int, isJoined func(*yaml.Node) bool) {
	const notPlain = quotedStyles | yaml.TaggedStyle
	for _, child := range n.Content {
		joined := n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle != 0 &&
			child.Kind == yaml.ScalarNode && child.Style&notPlain == 0 && child.Anchor == "" && isJoined(child)
		p.setOffsets(child, locate, isJoined)
		if joined {
			p.errorf(child.Column, "write "+oneALine+", or put commas between them, or all of a long one into quotes",
				"%s runs over several lines in brackets", quote(child.Value))
		}
	}
	n.Column = locate(n.Line, n.Column)
}

// oneALine is how a column of a spreadsheet becomes options.
const oneALine = "one choice a line, each after a dash"

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
