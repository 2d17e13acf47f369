package markup

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxInline is how many characters a list or mapping in brackets has where nothing else says how to write it.
const maxInline = 80

func pad(columns int) string { return strings.Repeat(" ", max(columns, 0)) }

// model returns the item of a list, at best before a place, that shows how a list or mapping is written there, or nil.
func (n *node) model(kind TreeKind, i int) (model *yaml.Node) {
	for _, kid := range n.kids {
		isLike := len(kid.kids) > 0 && treeKinds[kid.yaml.Kind] == kind && n.yaml.Kind == yaml.SequenceNode
		if isLike && (model == nil || kid.index < i) {
			model = kid.yaml
		}
	}
	return model
}

// inBrackets reports whether a list or mapping is written in brackets: as the model is, else if it is short.
func (s *Document) inBrackets(v Tree, model *yaml.Node, isItem bool) bool {
	isMapping := func(t Tree) bool { return t.Kind == Mapping }
	switch inline := s.inline(v); {
	case len(v.Items) == 0, isItem && v.Kind == List:
		return true
	case model != nil:
		return !isBlock(model)
	case slices.ContainsFunc(v.Items, isMapping) || len(inline) > maxInline || strings.Contains(inline, `\n`):
		return false
	case v.Kind == List:
		return !s.inLines
	}
	return !isItem || len(v.Items) <= 2
}

// valueAt returns a value with the space or line end before it. Its dash or key is at a column, -1 in brackets.
func (s *Document) valueAt(v Tree, column int, model *yaml.Node, isItem bool) string {
	switch {
	case v.Kind == Leaf && model != nil:
		return " " + s.text(v.Text, column, model.Style)
	case v.Kind == Leaf:
		return " " + s.text(v.Text, column, 0)
	case column < 0 || s.inBrackets(v, model, isItem):
		return " " + s.inline(v)
	}
	between := "\n" + pad(column+2)
	lines := s.join(v, column+2, "-", between)
	if isItem {
		return " " + lines
	}
	return between + lines
}

// join writes the parts of a list or mapping.
func (s *Document) join(v Tree, column int, dash, between string) string {
	var parts []string
	for i, item := range v.Items {
		mark := dash
		if v.Kind == Mapping {
			mark = s.text(v.Keys[i], -1, 0) + ":"
		}
		parts = append(parts, mark+s.valueAt(item, column, nil, v.Kind == List))
	}
	return strings.Join(parts, between)
}

// inline writes a value as it stands in brackets.
func (s *Document) inline(v Tree) string {
	switch v.Kind {
	case List:
		return "[" + strings.TrimPrefix(s.join(v, -1, "", ","), " ") + "]"
	case Mapping:
		return "{" + s.join(v, -1, "", ", ") + "}"
	}
	return s.text(v.Text, -1, 0)
}

// text writes a text: without quotes if it can be, else as lines or in quotes. Quotes stay. Its dash or key is at a
// column, -1 in brackets.
func (s *Document) text(text string, column int, style yaml.Style) string {
	spellings := []string{text, `"` + text + `"`, "'" + strings.ReplaceAll(text, "'", "''") + "'"}
	body := strings.TrimSuffix(text, "\n")
	switch isLong := strings.Contains(text, "\n"); {
	case isLong && column < 0:
		spellings = nil
	case isLong && body == text:
		spellings = []string{"|-" + shift("\n"+body, column+2)}
	case isLong:
		spellings = []string{"|" + shift("\n"+body, column+2)}
	case style&yaml.SingleQuotedStyle != 0:
		spellings = spellings[2:]
	case style&yaml.DoubleQuotedStyle != 0:
		spellings = spellings[1:]
	}
	for _, spelling := range spellings {
		before, after, path := "k: ", "\n", Path{"k"}
		if column < 0 {
			before, after, path = "k: [", "]\n", Path{"k", 0}
		}
		t, err := ReadTree(before + spelling + after)
		if value, ok := t.Get(path); ok && err == nil && spelling != "" && value.Equal(Tree{Text: text}) {
			return spelling
		}
	}
	return strconv.Quote(text)
}

// shift indents all lines but the first more or less.
func shift(text string, by int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		words := strings.TrimLeft(line, " ")
		if i > 0 && words != "" {
			lines[i] = pad(len(line)-len(words)+by) + words
		}
	}
	return strings.Join(lines, "\n")
}
