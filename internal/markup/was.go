package markup

import (
	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

// MaxWas is how many earlier names a field or an option may have.
const MaxWas = 20

// earlierID is an id that a field had before.
type earlierID struct {
	node *yaml.Node
	rank int
}

// earlierNames reads what a field or an option was called before: one text, or a list.
func (r *formReader) earlierNames(m *yaml.Node) (names []*yaml.Node) {
	n := valueOf(m, "was")
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.SequenceNode:
		names = r.list(n, "was")
	case r.isText(n, "was"):
		names = []*yaml.Node{n}
	}
	if len(names) > MaxWas {
		r.errorf(n.Column, "leave out the oldest ones", "was has more than %d names", MaxWas)
	}
	return names[:min(len(names), MaxWas)]
}

// checkEarlierIDs gives the fields their earlier ids. Each means one field.
func (r *formReader) checkEarlierIDs() {
	owners := map[string]int{}
	for _, id := range r.earlierIDs {
		name, at := id.node.Value, id.node.Column
		field := r.form.Fields[id.rank]
		_, isField := r.ranks[name]
		owner, taken := owners[name]
		reason := checkFieldID(name)
		switch {
		case reason != "":
			r.errorf(at, fieldIDHint, "was %s %s", quote(name), reason)
		case isField:
			r.errorf(at, "remove it from was, or remove that field",
				"was names %s, which is a field of the form", quote(name))
		case taken && owner == id.rank:
			r.errorf(at, "remove one of them", "was names %s twice", quote(name))
		case taken:
			r.errorf(at, "remove it from one of them",
				"field %s and field %s both were %s", quote(r.form.Fields[owner].ID), quote(field.ID), quote(name))
		default:
			owners[name] = id.rank
			field.Was = append(field.Was, name)
		}
	}
}

// earlierValue is a value that an option had before.
type earlierValue struct {
	node  *yaml.Node
	value string
}

// checkEarlierValues gives the options of a field their earlier values. Each means one option.
func (r *formReader) checkEarlierValues(f *forms.Field, list []earlierValue, isOption map[string]bool) {
	for _, v := range list {
		r.checkListValue(v.node, "value of was")
		name, at := v.node.Value, v.node.Column
		switch now, taken := f.ValueWas[name]; {
		case isOption[name]:
			r.errorf(at, "remove it from was, or remove that option",
				"was names %s, which is an option of the field", quote(name))
		case taken && now == v.value:
			r.errorf(at, "remove one of them", "was names %s twice", quote(name))
		case taken:
			r.errorf(at, "remove it from one of them",
				"option %s and option %s both were %s", quote(now), quote(v.value), quote(name))
		default:
			if f.ValueWas == nil {
				f.ValueWas = map[string]string{}
			}
			f.ValueWas[name] = v.value
		}
	}
}
