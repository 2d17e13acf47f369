package markup

import (
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

const fieldsHint = `list the fields, each with "- id: …" and "type: …"`

func (d *decoder) form(root *yaml.Node) *rawForm {
	m := d.mapping(root, "the form", `begin with "form: " and an id, then "fields:"`, formKeys)
	if m == nil {
		return nil
	}
	f := &rawForm{
		at:            m.at,
		id:            d.text(m, "form"),
		anonymous:     d.text(m, "anonymous"),
		oneSubmission: d.text(m, "oneSubmission"),
		what:          "the block",
		idKey:         "form",
	}
	list := m.values["fields"]
	if list == nil {
		d.errorf(m.at, fieldsHint, `the form has no "fields"`)
		return f
	}
	for _, n := range d.items(list, "fields", fieldsHint) {
		if d.spent() {
			break
		}
		if isSection(n) {
			f.items = append(f.items, rawItem{section: d.section(n)})
		} else if field, ok := d.field(n, nil); ok {
			f.items = append(f.items, rawItem{field: field})
		}
	}
	return f
}

// isSection reports whether n has the key that only sections have.
func isSection(n *yaml.Node) bool { return hasKey(resolveAlias(n), "section") }

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

// misplaced reports a mapping that is not allowed where it is. It counts towards
// the budget, because hasKey has read its keys.
func (d *decoder) misplaced(n *yaml.Node, hint, message string) {
	d.errorf(spotOf(n), hint, "%s", message)
	d.budget -= len(resolveAlias(n).Content)
}

func (d *decoder) section(n *yaml.Node) *rawSection {
	m := d.mapping(n, "a section", oneOf(sectionKeys), sectionKeys)
	if m == nil {
		return &rawSection{at: spotOf(n)}
	}
	s := &rawSection{at: m.at, name: d.text(m, "section"), showIf: d.showIf(m)}
	list := m.values["fields"]
	if list == nil {
		d.errorf(m.at, fieldsHint, `the section has no "fields"`)
		return s
	}
	for _, item := range d.items(list, "fields", fieldsHint) {
		if d.spent() {
			break
		}
		if isSection(item) {
			d.misplaced(item, "put it after this section", "a section inside a section")
		} else if field, ok := d.field(item, s); ok {
			s.fields = append(s.fields, field)
		}
	}
	return s
}

func (d *decoder) field(n *yaml.Node, in *rawSection) (rawField, bool) {
	m := d.mapping(n, "a field", `write "- id: …" and "type: …"`, fieldKeys)
	if m == nil {
		return rawField{}, false
	}
	for _, key := range []string{"label", "help"} {
		if text := m.values[key]; text != nil {
			d.warnOfAltered(text, key)
		}
	}
	f := rawField{
		at:       m.at,
		id:       d.text(m, "id"),
		typ:      d.text(m, "type"),
		label:    d.text(m, "label"),
		required: d.text(m, "required"),
		validate: d.text(m, "validate"),
		help:     d.text(m, "help"),
		maxSize:  d.text(m, "maxSize"),
	}
	if accept := m.values["accept"]; accept != nil {
		f.accept = d.accept(accept)
	}
	if options := m.values["options"]; options != nil {
		f.options = d.list(options, "options")
	}
	if in == nil {
		f.showIf = d.showIf(m)
	} else if key := m.keys["showIf"]; key != nil {
		d.errorf(spotOf(key), "give the section a showIf, or take the field out of it", "a field in a section can't have a showIf of its own")
	}
	return f, true
}

// accept reads a list of file types, or one text with commas between them.
func (d *decoder) accept(n *yaml.Node) *rawList {
	if resolveAlias(n).Kind != yaml.ScalarNode {
		return d.list(n, "accept")
	}
	d.warnOfAltered(n, "value")
	return splitAccept(d.scalar(n, "accept"))
}

const (
	ruleHint   = "write {field: …, equals: …}"
	showIfHint = ruleHint + ", or all: or any: with a list of such rules"
)

// showIf reads a condition; nil when there is none.
func (d *decoder) showIf(m *mapping) *rawCondition {
	n := m.values["showIf"]
	if n == nil {
		return nil
	}
	c := &rawCondition{at: spotOf(m.keys["showIf"])}
	if !hasKey(resolveAlias(n), "all", "any") {
		if r, ok := d.rule(n, "showIf", showIfHint); ok {
			c.rules = []rawRule{r}
		}
		return c
	}
	group := d.mapping(n, "showIf", showIfHint, []string{"all", "any"})
	if len(group.values) > 1 {
		d.errorf(group.at, "", `"all" and "any" exclude each other`)
		return c
	}
	for key, list := range group.values {
		c.any = key == string(forms.MatchAny)
		for _, item := range d.items(list, key, "write a list of rules: - "+ruleHint[len("write "):]) {
			if d.spent() {
				break
			}
			if r, ok := d.rule(item, "a rule", ruleHint); ok {
				c.rules = append(c.rules, r)
			}
		}
	}
	return c
}

// rule reads one comparison: a field, and exactly one operator.
func (d *decoder) rule(n *yaml.Node, what, hint string) (rawRule, bool) {
	if hasKey(resolveAlias(n), "all", "any") {
		d.misplaced(n, "", `"all" and "any" don't nest`)
		return rawRule{}, false
	}
	m := d.mapping(n, what, hint, ruleKeys)
	if m == nil {
		return rawRule{}, false
	}
	r := rawRule{at: m.at, field: d.text(m, "field")}
	if m.values["field"] == nil {
		d.errorf(m.at, hint, `the rule names no "field"`)
	}
	for _, o := range forms.Operators {
		key := m.keys[string(o)]
		switch {
		case key == nil:
			continue
		case r.operator.written():
			d.errorf(spotOf(key), "put the second one into a rule of its own", "a rule has one operator, but this one has %s and %s", r.operator.text, o)
			continue
		}
		r.operator = value{text: string(o), at: spotOf(key)}
		d.operand(&r, m.values[string(o)])
	}
	if !r.operator.written() {
		d.errorf(m.at, oneOf(forms.Operators), "the rule has no operator")
	}
	return r, r.field.written() && !r.field.invalid && r.operator.written()
}

func (d *decoder) operand(r *rawRule, n *yaml.Node) {
	takesList := r.operator.text == string(forms.Equals) || r.operator.text == string(forms.InList)
	if takesList && resolveAlias(n).Kind == yaml.SequenceNode {
		r.list = d.list(n, r.operator.text)
		return
	}
	r.one = d.scalar(n, r.operator.text)
}
