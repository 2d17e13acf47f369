package markup

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// decoder reads the YAML of one block. The columns of nodes are offsets on the
// page.
type decoder struct {
	*reader
	failed bool // an error was reported
}

func (d *decoder) errorf(at int, hint, format string, args ...any) {
	d.failed = true
	d.report(at, Error, hint, format, args...)
}

func (d *decoder) warnf(at int, hint, format string, args ...any) {
	d.report(at, Warning, hint, format, args...)
}

// value is a text and its offset.
type value struct {
	text    string
	at      int
	written bool
	null    bool // written, but without a value
	invalid bool // written, but not as a text: the decoder has reported it
}

// present reports whether there is a text.
func (v value) present() bool { return v.written && !v.null && !v.invalid }

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

// hasKey reports whether n is a mapping with one of the keys.
func hasKey(n *yaml.Node, keys ...string) bool {
	if n.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i < len(n.Content); i += 2 {
		if slices.Contains(keys, n.Content[i].Value) {
			return true
		}
	}
	return false
}

// yamlMap holds the entries of a YAML mapping that have known keys.
type yamlMap struct {
	at     int
	keys   map[string]*yaml.Node
	values map[string]*yaml.Node
}

// readMap reads a mapping, and calls unknown for keys that are not known; nil
// reports them. noun names the mapping in messages. It returns nil when n is not
// a mapping.
func (d *decoder) readMap(n *yaml.Node, noun, hint string, known []string, unknown func(key, val *yaml.Node)) *yamlMap {
	if n.Kind != yaml.MappingNode {
		d.errorf(n.Column, hint, "%s must be a mapping, not %s", noun, kindOf(n))
		return nil
	}
	m := &yamlMap{n.Column, map[string]*yaml.Node{}, map[string]*yaml.Node{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		switch first := m.keys[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			d.errorf(key.Column, oneOf(known), "%s can't be a key", kindOf(key))
		case slices.Contains(known, key.Value) && first != nil:
			d.errorf(key.Column, "", "key %s appears twice, first on line %d", quote(key.Value), d.line(first.Column))
		case slices.Contains(known, key.Value):
			m.keys[key.Value], m.values[key.Value] = key, val
		case unknown != nil:
			unknown(key, val)
		default:
			hint := ""
			if !d.full() { // the search for it takes time
				hint = wordHint(key.Value, known)
			}
			d.errorf(key.Column, hint, "unknown key %s in %s", quote(key.Value), noun)
		}
	}
	return m
}

// text reads the value of a key that holds one text. Numbers, dates, yes and no
// are read as the text that the author wrote.
func (d *decoder) text(m *yamlMap, key string) value {
	n := m.values[key]
	if n == nil {
		return value{}
	}
	return d.scalar(n, key)
}

func (d *decoder) scalar(n *yaml.Node, noun string) value {
	v := d.exactScalar(n, noun)
	v.text = strings.ReplaceAll(v.text, noBreakSpace, " ")
	return v
}

// exactScalar is scalar for texts that are compared byte for byte.
func (d *decoder) exactScalar(n *yaml.Node, noun string) value {
	if n.Kind != yaml.ScalarNode {
		d.errorf(n.Column, `put a text that contains ": ", or begins with a bracket, into quotes`, "%s must be a text, not %s", noun, kindOf(n))
		return value{at: n.Column, written: true, invalid: true}
	}
	if n.Style&yaml.TaggedStyle != 0 || n.Tag == "!" {
		d.warnOfLoss(n, n.Tag, "a tag")
	}
	if n.Anchor != "" { // no alias uses it
		d.warnOfLoss(n, "&"+n.Anchor, "an anchor")
	}
	return value{text: n.Value, at: n.Column, written: true, null: isNull(n)}
}

// items returns the elements of a list. It reports anything else, and returns nil.
func (d *decoder) items(n *yaml.Node, noun, hint string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		d.errorf(n.Column, hint, "%s must be a list, not %s", noun, kindOf(n))
		return nil
	}
	if len(n.Content) == 0 {
		d.errorf(n.Column, hint, "%s is an empty list", noun)
	}
	return n.Content
}

// list reads a list of texts.
func (d *decoder) list(n *yaml.Node, noun string) []value {
	var list []value
	for _, item := range d.items(n, noun, "write [a, b, c]") {
		if v := d.scalar(item, "a value of "+noun); !v.invalid {
			d.warnOfComment(item)
			list = append(list, v)
		}
	}
	return list
}

// warnOfComment warns when YAML takes a part of a line for a comment that may be
// meant as text. n is a text.
func (d *decoder) warnOfComment(n *yaml.Node) {
	if n.Style&quotedStyles == 0 && n.LineComment != "" {
		d.warnOfLoss(n, n.LineComment, "a comment")
	}
}

func (d *decoder) warnOfLoss(n *yaml.Node, part, taken string) {
	d.warnf(n.Column, "put all of the text into straight quotes, or a comment on a line of its own",
		"%s is not part of the text: YAML takes it for %s", quote(part), taken)
}

// choice reads a value that is one of the known words.
func choice[T ~string](d *decoder, v value, noun string, words []T) T {
	word := T(v.text)
	switch {
	case !v.written, v.invalid:
	case v.null:
		d.errorf(v.at, oneOf(words), "%s has no value", noun)
	case !slices.Contains(words, word):
		d.errorf(v.at, wordHint(v.text, words), "unknown %s %s", noun, quote(v.text))
	}
	return word
}
