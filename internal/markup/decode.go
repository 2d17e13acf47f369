package markup

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// nodeBudget bounds the YAML nodes that are read in a block. The target of an
// alias counts each time. A form of a thousand fields stays well below it.
const nodeBudget = 50_000

// decoder reads YAML nodes. It reads only as deep as a form nests, so an alias
// that contains itself does not make it run forever.
type decoder struct {
	*reporter
	budget    int // of nodes
	textBytes int // of the texts that were read
}

func newDecoder(r *reporter) decoder { return decoder{reporter: r, budget: nodeBudget} }

// value is a text and its spot. A value that is not written has the zero spot.
type value struct {
	text    string
	at      spot
	null    bool // written, but without a value
	invalid bool // written, but not as a text: the decoder has reported it
}

func (v value) written() bool { return v.at != spot{} }

// present reports whether there is a text.
func (v value) present() bool { return v.written() && !v.null && !v.invalid }

// valueList is a list of texts.
type valueList struct {
	at     spot
	values []value
}

// resolveAlias returns the target of an alias, and any other node itself.
func resolveAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// resolve is resolveAlias for a node that will be read: it counts towards the
// budget.
func (d *decoder) resolve(n *yaml.Node) *yaml.Node {
	n = resolveAlias(n)
	if d.budget--; d.budget == 0 {
		d.errorf(spotOf(n), "", "the block has more than %d values, counting what aliases repeat", nodeBudget)
	}
	if d.textBytes += len(n.Value); d.textBytes > MaxDefinitionBytes && !d.spent() {
		d.errorf(spotOf(n), "", "the block has more than %d bytes of text, counting what aliases repeat", MaxDefinitionBytes)
		d.budget = 0
	}
	return n
}

// spent reports whether the budget is used up: loops end then.
func (d *decoder) spent() bool { return d.budget <= 0 }

func spotOf(n *yaml.Node) spot { return spot{n.Line, n.Column} }

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
	n = resolveAlias(n)
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
	at     spot
	keys   map[string]*yaml.Node
	values map[string]*yaml.Node
}

// readMap reads a mapping, and reports keys that are not known. noun names it in
// messages. It returns nil when n is not a mapping.
func (d *decoder) readMap(n *yaml.Node, noun, hint string, known []string) *yamlMap {
	n = d.resolve(n)
	if n.Kind != yaml.MappingNode {
		if key, _, cut := strings.Cut(n.Value, ":"); cut && slices.Contains(known, key) {
			hint = wordHint(n.Value, known)
		}
		d.errorf(spotOf(n), hint, "%s must be a mapping, not %s", noun, kindOf(n))
		return nil
	}
	m := &yamlMap{spotOf(n), map[string]*yaml.Node{}, map[string]*yaml.Node{}}
	for i := 0; i+1 < len(n.Content) && !d.spent(); i += 2 {
		key, val := d.resolve(n.Content[i]), n.Content[i+1]
		switch first := m.keys[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			d.errorf(spotOf(key), oneOf(known), "%s can't be a key", kindOf(key))
		case !slices.Contains(known, key.Value):
			d.unknownKey(key, noun, known)
		case first != nil:
			d.errorf(spotOf(key), "", "key %s appears twice, first on line %d", quote(key.Value), d.lineOf(spotOf(first)))
		default:
			m.keys[key.Value], m.values[key.Value] = key, val
		}
	}
	return m
}

func (d *decoder) unknownKey(key *yaml.Node, noun string, known []string) {
	hint := ""
	if !d.full() { // the search takes time
		hint = wordHint(key.Value, known)
	}
	d.errorf(spotOf(key), hint, "unknown key %s in %s", quote(key.Value), noun)
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
	n = d.resolve(n)
	if n.Kind != yaml.ScalarNode {
		d.errorf(spotOf(n), "", "%s must be a text, not %s", noun, kindOf(n))
		return value{at: spotOf(n), invalid: true}
	}
	return value{text: n.Value, at: spotOf(n), null: isNull(n)}
}

// items returns the elements of a list. It reports anything else, and returns nil.
func (d *decoder) items(n *yaml.Node, noun, hint string) []*yaml.Node {
	n = d.resolve(n)
	if n.Kind != yaml.SequenceNode {
		d.errorf(spotOf(n), hint, "%s must be a list, not %s", noun, kindOf(n))
		return nil
	}
	if len(n.Content) == 0 {
		d.errorf(spotOf(n), hint, "%s is an empty list", noun)
	}
	return n.Content
}

// list reads a list of texts.
func (d *decoder) list(n *yaml.Node, noun string) valueList {
	list := valueList{at: spotOf(n)}
	for _, item := range d.items(n, noun, "write [a, b, c]") {
		if d.spent() {
			break
		}
		if target := resolveAlias(item); target.Kind == yaml.MappingNode && target.Style&yaml.FlowStyle == 0 {
			d.errorf(spotOf(item), "put it into quotes", "a value of %s contains a colon and a space", noun)
			continue
		}
		d.warnIfMisread(item, "value")
		if v := d.scalar(item, "a value of "+noun); !v.invalid {
			list.values = append(list.values, v)
		}
	}
	return list
}

// warnIfMisread warns when YAML reads a text differently from how it looks: part
// of it becomes a comment, an anchor or a tag, or curly quotes are kept as
// ordinary characters.
func (d *decoder) warnIfMisread(n *yaml.Node, noun string) {
	n = resolveAlias(n)
	const hint = "put it into straight quotes"
	switch {
	case n.Kind != yaml.ScalarNode:
	case n.Anchor != "":
		d.warnf(spotOf(n), hint, "%s is not part of the %s: YAML takes it for an anchor", quote("&"+n.Anchor), noun)
	case n.Style&yaml.TaggedStyle != 0:
		d.warnf(spotOf(n), hint, "%s is not part of the %s: YAML takes it for a tag", quote(n.Tag), noun)
	case n.Style&quotedStyles == 0 && n.LineComment != "":
		d.warnf(spotOf(n), hint+", or the comment on a line of its own", "%s is not part of the %s: YAML takes it for a comment", quote(n.LineComment), noun)
	case n.Style&quotedStyles == 0 && inCurlyQuotes(n.Value):
		d.warnf(spotOf(n), `use straight quotes (" or ')`, "the curly quotes are part of the %s %s", noun, quote(n.Value))
	}
}

func inCurlyQuotes(s string) bool {
	const curly = "“”„‟‘’‚‛«»"
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	return s != "" && strings.ContainsRune(curly, first) && strings.ContainsRune(curly, last)
}
