package markup

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/formulary/formulary/internal/forms"
)

// nodeBudget bounds the YAML nodes looked at in a block, those behind aliases
// counted each time. A form of a thousand fields stays well below it.
const nodeBudget = 50_000

// The keys that mean something, in the order the documentation names them.
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

// decoder turns YAML nodes into a rawForm. It walks by the model, not by the
// tree, and the model has a fixed depth: an alias that contains itself ends there.
type decoder struct {
	*block
	budget    int // of nodes
	textBytes int // of the texts looked at
}

// decodeYAML reads a block's text. The form is nil when the text is no
// mapping; the id is returned even then, if it can be found.
func (b *block) decodeYAML(text string) (form *rawForm, id string) {
	if at, r, found := firstUnprintable(text); found {
		b.errorf(at, "delete it", "the block contains %s", nameRune(r))
		return nil, guessFormID(text)
	}
	root, err := parseYAML(text)
	if err != nil {
		b.reportYAML(text, err)
		return nil, guessFormID(text)
	}
	if root == nil {
		b.errorf(spot{1, 1}, `begin with "form: " and an id`, "the form block is empty")
		return nil, ""
	}
	d := &decoder{block: b, budget: nodeBudget}
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

// aliased returns the node itself, or what the alias stands for.
func aliased(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// follow is aliased for a node that will be read: it is charged to the budget.
func (d *decoder) follow(n *yaml.Node) *yaml.Node {
	n = aliased(n)
	if d.budget--; d.budget == 0 {
		d.errorf(spotOf(n), "", "the block has more than %d values, counting what aliases repeat", nodeBudget)
	}
	if d.textBytes += len(n.Value); d.textBytes > MaxDefinitionBytes && !d.spent() {
		d.errorf(spotOf(n), "", "the block has more than %d bytes of text, counting what aliases repeat", MaxDefinitionBytes)
		d.budget = 0
	}
	return n
}

// spent reports whether the budget is used up, so that loops end early.
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

const written = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// isNull holds where no value is written. What else YAML takes for none, such
// as ~ and null, is the text that the author wrote, like yes and 1.
func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&written == 0
}

// mapping is the entries of a mapping that have known keys.
type mapping struct {
	at     spot
	keys   map[string]*yaml.Node
	values map[string]*yaml.Node
}

// mapping reads n with the given keys, and complains about all others. what
// names n in messages. It returns nil when n is no mapping.
func (d *decoder) mapping(n *yaml.Node, what, hint string, known []string) *mapping {
	n = d.follow(n)
	if n.Kind != yaml.MappingNode {
		if key, _, cut := strings.Cut(n.Value, ":"); cut && slices.Contains(known, key) {
			hint = meant(n.Value, known)
		}
		d.errorf(spotOf(n), hint, "%s must be a mapping, not %s", what, kindOf(n))
		return nil
	}
	m := &mapping{spotOf(n), map[string]*yaml.Node{}, map[string]*yaml.Node{}}
	for i := 0; i+1 < len(n.Content) && !d.spent(); i += 2 {
		key, val := d.follow(n.Content[i]), n.Content[i+1]
		switch first := m.keys[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			d.errorf(spotOf(key), oneOf(known), "%s can't be a key", kindOf(key))
		case !slices.Contains(known, key.Value):
			d.unknownKey(key, what, known)
		case first != nil:
			d.errorf(spotOf(key), "", "key %s stands twice, first on line %d", quote(key.Value), d.lineOf(spotOf(first)))
		default:
			m.keys[key.Value], m.values[key.Value] = key, val
		}
	}
	return m
}

func (d *decoder) unknownKey(key *yaml.Node, what string, known []string) {
	hint := ""
	if !d.full() { // looking for it takes time
		hint = meant(key.Value, known)
	}
	d.errorf(spotOf(key), hint, "unknown key %s in %s", quote(key.Value), what)
}

// text reads the value of a key that holds one text. Numbers, dates and yes
// and no are the text that the author wrote.
func (d *decoder) text(m *mapping, key string) value {
	n := m.values[key]
	if n == nil {
		return value{}
	}
	return d.scalar(n, key)
}

func (d *decoder) scalar(n *yaml.Node, what string) value {
	v := d.exact(n, what)
	v.text = strings.ReplaceAll(v.text, noBreakSpace, " ")
	return v
}

// exact is scalar for texts that are compared byte for byte.
func (d *decoder) exact(n *yaml.Node, what string) value {
	n = d.follow(n)
	if n.Kind != yaml.ScalarNode {
		d.errorf(spotOf(n), "", "%s must be a text, not %s", what, kindOf(n))
		return value{at: spotOf(n), odd: true}
	}
	return value{text: n.Value, at: spotOf(n), null: isNull(n)}
}

// items returns the elements of a list, or nil after a complaint.
func (d *decoder) items(n *yaml.Node, what, hint string) []*yaml.Node {
	n = d.follow(n)
	if n.Kind != yaml.SequenceNode {
		d.errorf(spotOf(n), hint, "%s must be a list, not %s", what, kindOf(n))
		return nil
	}
	if len(n.Content) == 0 {
		d.errorf(spotOf(n), hint, "%s is an empty list", what)
	}
	return n.Content
}

// list reads a list of texts, nil when it is none.
func (d *decoder) list(n *yaml.Node, what string) *rawList {
	list := &rawList{at: spotOf(n)}
	for _, item := range d.items(n, what, "write [a, b, c]") {
		if d.spent() {
			break
		}
		if mapping := aliased(item); mapping.Kind == yaml.MappingNode && mapping.Style&yaml.FlowStyle == 0 {
			d.errorf(spotOf(item), "put it into quotes", "a value of %s contains a colon and a space", what)
			continue
		}
		d.warnOfAltered(item, "value")
		if v := d.scalar(item, "a value of "+what); !v.odd {
			list.values = append(list.values, v)
		}
	}
	return list
}
