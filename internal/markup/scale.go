package markup

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

// scale reads the texts at the ends of a row of radio buttons.
func (r *formReader) scale(m *yaml.Node, f *forms.Field) {
	n := valueOf(m, "scale")
	switch {
	case n == nil || f.Type == "": // an unknown type was reported
	case n.Kind != yaml.SequenceNode || len(n.Content) != 2:
		r.errorf(n.Column, `write [TEXT, TEXT], or TEXT;TEXT in a macro; a text may be empty`,
			"scale must be a list of two texts")
	case f.Type != forms.Radio:
		r.errorf(n.Column, "leave scale out, or use type: radio", "only a radio has a scale, not a %s", f.Type)
	case len(f.Options) == 0 || len(f.Options) > MaxColumns:
		r.errorf(n.Column, "change the options, or leave scale out",
			"a scale has from 1 to %d options, not %d", MaxColumns, len(f.Options))
	default:
		for _, end := range n.Content {
			f.Scale = append(f.Scale, r.shown(end, "a text of scale"))
		}
	}
}

// grid reports whether the fields of a section are shown as a table, and checks that they
// can be.
func (r *formReader) grid(m *yaml.Node, fields []*forms.Field) bool {
	if !r.boolean(m, "grid") {
		return false
	}
	at := r.offsets[len(r.offsets)-len(fields):]
	for i, f := range fields {
		switch first := fields[0]; {
		case f.Type == "": // an unknown one was reported
		case f.Type != forms.Radio || f.Options == nil:
			r.errorf(at[i], "use type: radio with options, or put the field after the section",
				"field %s is in a grid, and is no radio with options", quote(f.ID))
		case f.Scale != nil:
			r.errorf(at[i], "leave out scale, or grid", "field %s is in a grid, and can't have a scale", quote(f.ID))
		case !slices.Equal(f.Options, first.Options) || !maps.Equal(f.Labels, first.Labels):
			r.errorf(at[i], "write the same options with the same labels in the same order, or leave grid out",
				"field %s is in a grid, and its options are not those of field %s", quote(f.ID), quote(first.ID))
		}
	}
	return true
}
