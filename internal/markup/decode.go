package markup

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

// nodeBudget bounds the YAML nodes that are read in a block. The target of an
// alias counts each time. A form of a thousand fields stays well below it.
const nodeBudget = 50_000

// The known keys, in the order of the documentation.
var (
	formKeys    = []string{"form", "anonymous", "oneSubmission", "fields"}
	fieldKeys   = []string{"id", "type", "label", "required", "options", "validate", "help", "accept", "maxSize", "showIf"}
	sectionKeys = []string{"section", "showIf", "fields"}
	ruleKeys    = append([]string{"field"}, operatorNames()...)
)

func operatorNames() []string {
	names := make([]string, len(forms.Operators))
	for i, o := range forms.Operators {
		names[i] = string(o)
	}
	return names
}

// decoder turns YAML nodes into a rawForm. It reads only as deep as a form
// nests, so an alias that contains itself does not make it run forever.
type decoder struct {
	*reporter
	budget    int // of nodes
	textBytes int // of the texts that were read
}

// decodeYAML reads a block's text. The form is nil when the text is not a
// mapping. The id is returned even then, if it can be found.
func (r *reporter) decodeYAML(text string) (form *rawForm, id string) {
	root, ok := r.parseYAML(text)
	if !ok {
		return nil, guessFormID(text)
	}
	if root == nil {
		r.errorf(spot{1, 1}, `begin with "form: " and an id`, "the form block is empty")
		return nil, ""
	}
	d := &decoder{reporter: r, budget: nodeBudget}
	form = d.form(root)
	switch {
	case form == nil:
		id = guessFormID(text)
	case form.id.present() && checkID(form.id.text) == "":
		id = form.id.text
	}
	return form, id
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

// mapping holds the entries of a YAML mapping that have known keys.
type mapping struct {
	at     spot
	keys   map[string]*yaml.Node
	values map[string]*yaml.Node
}

// mapping reads n, and reports keys that are not known. what names n in
// messages. It returns nil when n is not a mapping.
func (d *decoder) mapping(n *yaml.Node, what, hint string, known []string) *mapping {
	n = d.resolve(n)
	if n.Kind != yaml.MappingNode {
		if key, _, cut := strings.Cut(n.Value, ":"); cut && slices.Contains(known, key) {
			hint = wordHint(n.Value, known)
		}
		d.errorf(spotOf(n), hint, "%s must be a mapping, not %s", what, kindOf(n))
		return nil
	}
	m := &mapping{spotOf(n), map[string]*yaml.Node{}, map[string]*yaml.Node{}}
	for i := 0; i+1 < len(n.Content) && !d.spent(); i += 2 {
		key, val := d.resolve(n.Content[i]), n.Content[i+1]
		switch first := m.keys[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			d.errorf(spotOf(key), oneOf(known), "%s can't be a key", kindOf(key))
		case !slices.Contains(known, key.Value):
			d.unknownKey(key, what, known)
		case first != nil:
			d.errorf(spotOf(key), "", "key %s appears twice, first on line %d", quote(key.Value), d.lineOf(spotOf(first)))
		default:
			m.keys[key.Value], m.values[key.Value] = key, val
		}
	}
	return m
}

func (d *decoder) unknownKey(key *yaml.Node, what string, known []string) {
	hint := ""
	if !d.full() { // the search takes time
		hint = wordHint(key.Value, known)
	}
	d.errorf(spotOf(key), hint, "unknown key %s in %s", quote(key.Value), what)
}

// text reads the value of a key that holds one text. Numbers, dates, yes and no
// are read as the text that the author wrote.
func (d *decoder) text(m *mapping, key string) value {
	n := m.values[key]
	if n == nil {
		return value{}
	}
	return d.scalar(n, key)
}

func (d *decoder) scalar(n *yaml.Node, what string) value {
	v := d.exactScalar(n, what)
	v.text = strings.ReplaceAll(v.text, noBreakSpace, " ")
	return v
}

// exactScalar is scalar for texts that are compared byte for byte.
func (d *decoder) exactScalar(n *yaml.Node, what string) value {
	n = d.resolve(n)
	if n.Kind != yaml.ScalarNode {
		d.errorf(spotOf(n), "", "%s must be a text, not %s", what, kindOf(n))
		return value{at: spotOf(n), invalid: true}
	}
	return value{text: n.Value, at: spotOf(n), null: isNull(n)}
}

// items returns the elements of a list. It reports anything else, and returns nil.
func (d *decoder) items(n *yaml.Node, what, hint string) []*yaml.Node {
	n = d.resolve(n)
	if n.Kind != yaml.SequenceNode {
		d.errorf(spotOf(n), hint, "%s must be a list, not %s", what, kindOf(n))
		return nil
	}
	if len(n.Content) == 0 {
		d.errorf(spotOf(n), hint, "%s is an empty list", what)
	}
	return n.Content
}

// list reads a list of texts.
func (d *decoder) list(n *yaml.Node, what string) *rawList {
	list := &rawList{at: spotOf(n)}
	for _, item := range d.items(n, what, "write [a, b, c]") {
		if d.spent() {
			break
		}
		if mapping := resolveAlias(item); mapping.Kind == yaml.MappingNode && mapping.Style&yaml.FlowStyle == 0 {
			d.errorf(spotOf(item), "put it into quotes", "a value of %s contains a colon and a space", what)
			continue
		}
		d.warnOfAltered(item, "value")
		if v := d.scalar(item, "a value of "+what); !v.invalid {
			list.values = append(list.values, v)
		}
	}
	return list
}
