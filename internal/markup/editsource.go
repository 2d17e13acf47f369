package markup

import (
	"errors"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// lineBreak stands for the two characters that end a line of a CRLF text, so that lines and columns are
// as the parser counts them. No text may contain it: see isPrintable.
const (
	crlf      = '\uffff'
	lineBreak = string(crlf)
)

var lineFeeds = strings.NewReplacer(lineBreak, "\n", "\r", "\n")

// Document is a text of YAML with the places of its values. Offsets count characters.
type Document struct {
	src    []rune // as written; a CRLF is one lineBreak
	plain  []rune // as YAML reads it: the same number of characters, and the end of the last line
	starts []int  // of the lines
	Tree   Tree
	root   *node

	opaque  []span // of texts, anchors and aliases: no comment begins there
	uses    map[*yaml.Node][]*node
	inLines bool // the last list of texts has a line for each
}

type span struct{ start, end int }

// node is a value in a text.
type node struct {
	yaml   *yaml.Node // an alias is not followed
	parent *node
	kids   []*node
	step   any // of the path: a key or an index
	index  int // among the kids of the parent
	head   int // where its dash or its key begins; in a list in brackets, the value
	after  int // where its dash or the colon of its key ends
	start  int // of the value, with its anchor
	at     int // without it
	end    int
}

// isBlock reports whether a list or mapping is written as lines.
func isBlock(y *yaml.Node) bool { return len(y.Content) > 0 && y.Style&yaml.FlowStyle == 0 }

// ReadDocument reads a text of YAML with one document.
func ReadDocument(text string) (*Document, error) {
	s := &Document{uses: map[*yaml.Node][]*node{}, src: []rune(strings.ReplaceAll(text, "\r\n", lineBreak))}
	plain := plainSpaces.Replace(lineFeeds.Replace(string(s.src)))
	s.plain = []rune(plain + "\n")
	for i := range s.plain {
		if i == 0 || s.plain[i-1] == '\n' {
			s.starts = append(s.starts, i)
		}
	}
	isBad := func(r rune) bool { return !isPrintable(r) }
	if len(text) > MaxBlockBytes || !utf8.ValidString(text) || strings.Contains(text, lineBreak) ||
		hasManyMarks(plain) || strings.ContainsFunc(plain, isBad) {
		return s, errors.New("the text is too long, or has too many brackets and commas, or characters that YAML refuses")
	}
	first, second, err := loadYAML(endLine(plain))
	switch {
	case err != nil || first == nil:
		return s, err
	case second != nil:
		return s, errors.New("a second document")
	}
	tree, err := (&counter{}).tree(first.Content[0], 1)
	if err == nil {
		s.Tree, s.root = tree, s.measure(first.Content[0], &node{yaml: first})
		s.root.after = -1
	}
	return s, err
}

// treeKinds has Leaf for all other kinds.
var treeKinds = map[yaml.Kind]TreeKind{yaml.SequenceNode: List, yaml.MappingNode: Mapping}

// counter bounds what aliases repeat.
type counter struct{ nodes, bytes int }

// tree returns the value of a node. Aliases are expanded.
func (c *counter) tree(y *yaml.Node, depth int) (Tree, error) {
	if y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	c.nodes++
	c.bytes += len(y.Value)
	if depth > 2*maxYAMLNesting || c.nodes > maxNodes || c.bytes > MaxDefinitionBytes {
		return Tree{}, errors.New("the text is too large, counting what aliases repeat")
	}
	t := Tree{Kind: treeKinds[y.Kind], Text: y.Value}
	for i, child := range y.Content {
		if t.Kind == Mapping && i%2 == 0 {
			if child.Kind != yaml.ScalarNode {
				return t, errors.New("a key that is no text")
			}
			t.Keys = append(t.Keys, child.Value)
			continue
		}
		item, err := c.tree(child, depth+1)
		if err != nil {
			return t, err
		}
		t.Items = append(t.Items, item)
	}
	return t, nil
}

// measure finds where a node of the parser begins and ends.
func (s *Document) measure(y *yaml.Node, parent *node) *node {
	n := &node{yaml: y, parent: parent, start: s.lineStart(y.Line-1) + y.Column - 1}
	n.at, n.end = n.start, n.start
	for c := s.char(n.at); c == '&' || c == '!'; c = s.char(n.at) {
		n.end = s.wordEnd(n.at)
		s.opaque = append(s.opaque, span{n.at, n.end})
		n.at = s.skip(n.end)
	}
	text := n.at
	if y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		text = s.lineEnd(n.at) // a comment may follow |
	}
	switch {
	case treeKinds[y.Kind] != Leaf:
		s.measureAll(n)
		return n
	case isNull(y):
		n.at = n.end
		return n
	case y.Kind == yaml.AliasNode:
		n.end = s.wordEnd(n.at)
		s.uses[y.Alias] = append(s.uses[y.Alias], n)
	case y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		n.end = s.quoteEnd(n.at)
	default:
		n.end = text
		for word := range strings.FieldsFuncSeq(y.Value, isSpace) { // the parser has changed the spaces between them
			for isSpace(s.char(n.end)) {
				n.end++
			}
			n.end += utf8.RuneCountInString(word)
		}
	}
	s.opaque = append(s.opaque, span{text, n.end})
	return n
}

// measureAll measures the parts of a list or mapping.
func (s *Document) measureAll(n *node) {
	y, at := n.yaml, n.at
	isFlow := y.Style&yaml.FlowStyle != 0 && (s.char(at) == '[' || s.char(at) == '{')
	if isFlow {
		at++
	}
	for i := 0; i < len(y.Content); i++ {
		head := s.skip(at)
		after, step := -1, any(i)
		if y.Kind == yaml.MappingNode {
			key := s.measure(y.Content[i], n)
			after, step = key.end, y.Content[i].Value
			if colon := s.skip(after); s.char(colon) == ':' {
				after = colon + 1
			}
			i++
		} else if isBlock(y) {
			after = head + 1
		}
		kid := s.measure(y.Content[i], n)
		if kid.start == kid.end {
			kid.start, kid.at, kid.end = after, after, after
		}
		if kid.yaml.Kind == yaml.ScalarNode && y.Kind == yaml.SequenceNode {
			s.inLines = isBlock(y)
		}
		kid.head, kid.after, kid.step, kid.index = head, after, step, len(n.kids)
		n.kids = append(n.kids, kid)
		at = kid.end
	}
	if n.end = at; isFlow {
		n.end = s.skip(at) + 1
	}
}

func (s *Document) quoteEnd(at int) int {
	quote := s.char(at)
	for at++; at < len(s.plain); at++ {
		c := s.char(at)
		if quote == '"' && c == '\\' || quote == '\'' && c == quote && s.char(at+1) == quote {
			at++
		} else if c == quote {
			return at + 1
		}
	}
	return at
}

// char returns a character, or 0 beyond the end.
func (s *Document) char(at int) rune {
	if at < 0 || at >= len(s.plain) {
		return 0
	}
	return s.plain[at]
}

func isSpace(c rune) bool { return c == ' ' || c == '\t' || c == '\n' }

// wordEnd returns the end of an anchor, an alias or a tag.
func (s *Document) wordEnd(at int) int {
	for at++; at < len(s.plain) && !strings.ContainsRune(" \t\n,[]{}", s.plain[at]); at++ {
	}
	return at
}

// skip returns the offset of what follows spaces, commas and comments.
func (s *Document) skip(at int) int {
	for {
		switch c := s.char(at); {
		case isSpace(c), c == ',':
			at++
		case c == '#':
			at = s.lineEnd(at)
		default:
			return at
		}
	}
}

// line returns the number of a line, from 0.
func (s *Document) line(at int) int { return max(sort.SearchInts(s.starts, at+1)-1, 0) }

func (s *Document) column(at int) int { return at - s.starts[s.line(at)] }

// lineStart returns the offset of a line, or the end.
func (s *Document) lineStart(line int) int {
	if line < len(s.starts) {
		return s.starts[max(line, 0)]
	}
	return len(s.plain)
}

func (s *Document) lineEnd(at int) int { return s.lineStart(s.line(at)+1) - 1 }

// comments returns the comments outside of a part, sorted.
func (s *Document) comments(except span) (comments []string) {
	at := 0
	for _, text := range append(s.opaque, span{len(s.plain), 0}) {
		for ; at < text.start; at++ {
			if s.char(at) != '#' {
				continue
			}
			end := s.lineEnd(at)
			if at < except.start || at >= except.end {
				comments = append(comments, strings.TrimSpace(string(s.plain[at:end])))
			}
			at = end
		}
		at = max(at, text.end)
	}
	slices.Sort(comments)
	return comments
}
