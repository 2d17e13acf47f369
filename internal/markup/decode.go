package markup

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// The functions of this file read YAML nodes whose columns are offsets on the page.

func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	default:
		return "a text"
	}
}

const quotedStyles = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// isNull reports whether no value is written. Other spellings of null, such as ~
// and null, are texts, like yes and 1.
func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&quotedStyles == 0
}

// valueOf returns the value of a key, or nil if n is no mapping that has it. The first
// of two values counts.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// checkKeys reports keys that appear twice, and calls unknown for those that are not
// known; nil reports them. noun names the mapping in messages. It reports whether n is a
// mapping.
func (p *reader) checkKeys(n *yaml.Node, noun, hint string, known []string, unknown func(key *yaml.Node)) bool {
	if n.Kind != yaml.MappingNode {
		p.errorf(n.Column, hint, "%s must be a mapping, not %s", noun, kindOf(n))
		return false
	}
	seen := map[string]*yaml.Node{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		switch first := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			p.errorf(key.Column, oneOf(known), "%s can't be a key", kindOf(key))
		case first != nil:
			p.errorf(key.Column, "", "key %s appears twice, first on line %d", quote(key.Value), p.line(first.Column))
		case slices.Contains(known, key.Value):
			seen[key.Value] = key
		case unknown != nil:
			unknown(key)
		case n.Style&yaml.FlowStyle != 0 && isNull(n.Content[i+1]):
			p.errorf(key.Column, "put a text with a comma into quotes, and a space after the colon of a key",
				"unknown key %s in %s", quote(key.Value), noun)
		default:
			p.errorf(key.Column, wordHint(p, noun, key.Value, known), "unknown key %s in %s", quote(key.Value), noun)
		}
	}
	return true
}

// isText reports whether n is a text, and what YAML makes of it otherwise. Numbers, dates,
// yes and no are texts, as the author wrote them.
func (p *reader) isText(n *yaml.Node, noun string) bool {
	if n.Kind != yaml.ScalarNode {
		p.errorf(n.Column, `put a text that contains ": ", or begins with a bracket, into quotes`,
			"%s must be a text, not %s", noun, kindOf(n))
		return false
	}
	if n.Style&yaml.TaggedStyle != 0 || n.Tag == "!" {
		p.warnOfLoss(n, n.Tag, "a tag")
	}
	if n.Anchor != "" { // no alias uses it
		p.warnOfLoss(n, "&"+n.Anchor, "an anchor")
	}
	return true
}

// text returns the value of a key that holds one text, or nil. A value that is no text is
// reported.
func (p *reader) text(m *yaml.Node, key string) *yaml.Node {
	if n := valueOf(m, key); n != nil && p.isText(n, key) {
		return n
	}
	return nil
}

// requiredText returns the text of a key that must be written, or nil.
func (p *reader) requiredText(m *yaml.Node, key, hint, message string) *yaml.Node {
	if n := valueOf(m, key); n != nil && !isNull(n) {
		return p.text(m, key)
	}
	p.errorf(m.Column, hint, "%s", message)
	return nil
}

// items returns the elements of a list. It reports anything else, and returns nil.
func (p *reader) items(n *yaml.Node, noun, hint string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		p.errorf(n.Column, hint, "%s must be a list, not %s", noun, kindOf(n))
		return nil
	}
	if len(n.Content) == 0 {
		p.errorf(n.Column, hint, "%s is an empty list", noun)
	}
	return n.Content
}

// list returns the elements of a list of texts.
func (p *reader) list(n *yaml.Node, noun string) (list []*yaml.Node) {
	for _, item := range p.items(n, noun, "write [a, b, c]") {
		if p.isText(item, "a value of "+noun) {
			p.warnOfComment(item)
			list = append(list, item)
		}
	}
	return list
}

// warnOfComment warns when YAML takes a part of a line for a comment that may be
// meant as text. n is a text.
func (p *reader) warnOfComment(n *yaml.Node) {
	if n.Style&quotedStyles == 0 && n.LineComment != "" {
		p.warnOfLoss(n, n.LineComment, "a comment")
	}
}

func (p *reader) warnOfLoss(n *yaml.Node, part, taken string) {
	p.warnf(n.Column, "put all of the text into straight quotes, or a comment on a line of its own",
		"%s is not part of the text: YAML takes it for %s", quote(part), taken)
}

// choice reads the value of a key that is one of the known words. It returns "" if there
// is none, or if it was reported.
func choice[T ~string](p *reader, m *yaml.Node, key, noun string, words []T) T {
	n := p.text(m, key)
	switch {
	case n == nil:
	case slices.Contains(words, T(n.Value)):
		return T(n.Value)
	case isNull(n):
		p.errorf(n.Column, oneOf(words), "%s has no value", noun)
	default:
		p.errorf(n.Column, wordHint(p, noun, n.Value, words), "unknown %s %s", noun, quote(n.Value))
	}
	return ""
}

// boolean reads the value of a key that is true or false. Without the key it is
// false.
func (p *reader) boolean(m *yaml.Node, key string) bool {
	n := p.text(m, key)
	switch {
	case n == nil, n.Value == "false":
	case n.Value == "true":
		return true
	case isNull(n):
		p.errorf(n.Column, "use true or false", "%s has no value", key)
	case slices.Contains([]string{"true", "yes", "y", "on", "1"}, strings.ToLower(n.Value)):
		p.errorf(n.Column, "", "write true instead of %s", quote(n.Value))
	case slices.Contains([]string{"false", "no", "n", "off", "0"}, strings.ToLower(n.Value)):
		p.errorf(n.Column, "", "write false instead of %s", quote(n.Value))
	default:
		p.errorf(n.Column, "", "%s must be true or false, not %s", key, quote(n.Value))
	}
	return false
}

// wholeNumber reads the value of a key that is a number from 1 to limit. It returns 0 if there is
// none, or if it was reported.
func (p *reader) wholeNumber(m *yaml.Node, key string, limit int) int {
	n := p.text(m, key)
	if n == nil {
		return 0
	}
	number, err := strconv.Atoi(n.Value)
	if err != nil || number < 1 || number > limit || n.Value[0] == '+' || n.Value[0] == '0' {
		p.errorf(n.Column, "use digits only, without a leading zero, or leave "+key+" out",
			"%s must be a whole number from 1 to %d, not %s", key, limit, quote(n.Value))
		return 0
	}
	return number
}
