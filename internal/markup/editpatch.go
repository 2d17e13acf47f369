package markup

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// patch is a change of a source.
type patch struct {
	*Document
	splices []splice
	gone    span // its comments go
}

type splice struct {
	span
	text string
}

// put replaces a part by a text.
func (p *patch) put(start, end int, text string) {
	if slices.Contains(p.src, crlf) {
		text = strings.ReplaceAll(text, "\n", lineBreak)
	}
	p.splices = append(p.splices, splice{span{start, end}, text})
}

// part returns a part as it is written.
func (s *Document) part(at span) string {
	end := max(min(at.end, len(s.src)), 0)
	return string(s.src[max(min(at.start, end), 0):end])
}

// prove makes the change. It reads the new text, and refuses one that means anything else or has lost comments.
func (p *patch) prove(want Tree) (*Document, error) {
	slices.SortStableFunc(p.splices, func(a, b splice) int { return cmp.Or(a.start-b.start, a.end-b.end) })
	text, at := "", 0
	for _, sp := range p.splices {
		if sp.start < at || sp.end < sp.start {
			return nil, cannot("two parts of the change overlap")
		}
		text += p.part(span{at, sp.start}) + sp.text
		at = sp.end
	}
	next, err := ReadDocument(strings.ReplaceAll(text+p.part(span{at, len(p.src)}), lineBreak, "\r\n"))
	switch {
	case err != nil:
		return nil, cannot(err)
	case !next.Tree.Equal(want) || !slices.Equal(p.comments(p.gone), next.comments(span{})):
		return nil, cannot("the text would mean something else, or lose a comment")
	}
	return next, nil
}

// chain returns the nodes on a path, from the root on, as far as it goes.
func (s *Document) chain(path Path) ([]*node, error) {
	n := s.root
	nodes := []*node{n}
	for _, step := range path {
		isStep := func(kid *node) bool { return kid.step == step }
		i := slices.IndexFunc(n.kids, isStep)
		switch {
		case n.yaml.Kind == yaml.AliasNode || i >= 0 && slices.ContainsFunc(n.kids[i+1:], isStep):
			return nodes, cannot("an alias or the same key again")
		case i < 0:
			return nodes, nil
		}
		n = n.kids[i]
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// plan makes a change. It refuses one that it can't prove.
func (p *patch) plan(c Change, want Tree) (*Document, error) {
	nodes, err := p.chain(c.Path)
	last := nodes[len(nodes)-1]
	switch {
	case err != nil:
	case c.Do == Set && len(nodes) > len(c.Path):
		p.replace(last, c.Value, "")
	case c.Do == Delete:
		p.remove(last)
	case c.Do == Move:
		err = p.move(last, c, want)
	default:
		p.place(nodes, c.Path, want, nil)
	}
	if err != nil {
		return nil, err
	}
	return p.prove(want)
}

// place adds a value, and the mappings that are missing on the way to it. A moved item is written as before.
func (p *patch) place(nodes []*node, path Path, want Tree, moved *node) {
	depth := min(len(nodes), len(path)) - 1
	last, step := nodes[depth], path[depth]
	if len(last.kids) == 0 {
		value, _ := want.Get(path[:depth])
		p.replace(last, value, "")
		return
	}
	value, _ := want.Get(path[:depth+1])
	key, isKey := step.(string)
	i, isIndex := step.(int)
	if isKey {
		i, key = len(last.kids), p.text(key, -1, 0)+":"
	} else if isBlock(last.yaml) {
		key = "-"
	}
	text := key + p.valueAt(value, p.columnIn(last), last.model(value.Kind, i), isIndex)
	if moved != nil && isIndex && isBlock(last.yaml) && isBlock(moved.parent.yaml) {
		text = strings.ReplaceAll(p.part(p.chunk(moved)), lineBreak, "\n")
		text = shift(text, p.column(last.at)-p.column(moved.head))
	}
	p.insert(last, i, strings.TrimPrefix(text, " "))
}

// columnIn returns the column of the dashes or keys of a list or mapping, -1 in brackets.
func (s *Document) columnIn(n *node) int {
	if isBlock(n.yaml) {
		return s.column(n.at)
	}
	return -1
}

// replace writes another value. A comment at the end of its line stays.
func (p *patch) replace(n *node, v Tree, anchor string) {
	p.gone = span{n.start, n.end}
	y := n.yaml
	if y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	model := n.parent.model(v.Kind, n.index)
	if treeKinds[y.Kind] == v.Kind && (v.Kind == Leaf || len(y.Content) > 0) {
		model = y
	}
	text := anchor + p.valueAt(v, p.columnIn(n.parent), model, n.parent.yaml.Kind == yaml.SequenceNode)
	first, _, _ := strings.Cut(text, "\n")
	rest, start, firstEnd, end := text[len(first):], n.start, p.lineEnd(n.after), p.lineEnd(n.end)
	switch {
	case p.line(start) > p.line(n.after) && isBlock(n.parent.yaml): // comments of the first line stay
		p.put(n.after, n.after, first)
		p.gone = span{firstEnd, end}
		p.put(firstEnd, end, rest)
		return
	case first == "":
		start = n.after
	case start > n.after:
		first = first[1:]
	}
	p.put(start, n.end, first)
	p.put(end, end, rest)
}

// chunk returns the part of an item or entry. In a block list it begins with the comments directly above.
func (s *Document) chunk(n *node) span {
	if !isBlock(n.parent.yaml) {
		return span{n.head, n.end}
	}
	c := span{n.head, s.lineEnd(n.end)}
	line := s.line(n.head)
	mark := s.part(span{s.starts[line], n.head}) + "#"
	for n.parent.yaml.Kind == yaml.SequenceNode && line > 0 && strings.TrimLeft(mark, " ") == "#" {
		line--
		above := s.starts[line] + len(mark)
		if s.part(span{s.starts[line], above}) != mark {
			break
		}
		c.start = above - 1
	}
	return c
}

// blank reports whether a part has only spaces.
func (s *Document) blank(at span) bool { return strings.Trim(s.part(at), " \t\n"+lineBreak) == "" }

// remove removes an item or an entry, with the blank lines between it and the one before.
func (p *patch) remove(n *node) {
	m := n.parent
	own, last := p.chunk(n), len(m.kids)-1
	if last == 0 {
		p.replace(m, Tree{Kind: treeKinds[m.yaml.Kind]}, "")
		return
	}
	cut := own
	if n.index > 0 {
		cut.start = p.chunk(m.kids[n.index-1]).end
	} else {
		cut.end = p.chunk(m.kids[1]).start
	}
	if isBlock(m.yaml) && (!p.blank(span{cut.start, own.start}) || !p.blank(span{own.end, cut.end})) {
		cut = own // other comments stay
		if n.index > 0 {
			cut.start = p.starts[p.line(own.start)] - 1
		}
	}
	p.gone = own
	p.put(cut.start, cut.end, "")
}

// insert adds an item or entry to a list or mapping that has others, with the bytes between them.
func (p *patch) insert(m *node, i int, text string) {
	between, last := ", ", len(m.kids)-1
	if isBlock(m.yaml) {
		between = "\n" + pad(p.column(m.at))
	}
	if k := min(max(i, 1), last); last > 0 && m.yaml.Kind == yaml.SequenceNode {
		old := p.part(span{p.chunk(m.kids[k-1]).end, p.chunk(m.kids[k]).start})
		if strings.Trim(old, " \n"+lineBreak) == strings.TrimSpace(between) {
			between = old
		}
	}
	at := p.chunk(m.kids[min(i, last)])
	if i <= last {
		p.put(at.start, at.start, text+between)
	} else {
		p.put(at.end, at.end, between+text)
	}
}

// move moves an item. In its list, items change places, and the bytes between them stay.
func (p *patch) move(n *node, c Change, want Tree) error {
	to, last := slices.Clone(c.To), len(c.Path)-1
	if len(to) > last+1 && slices.Equal(to[:last], c.Path[:last]) {
		if at, ok := to[last].(int); ok && at >= n.index {
			to[last] = at + 1 // it is there before the item has gone
		}
	}
	nodes, err := p.chain(to)
	i, isIndex := to[len(to)-1].(int)
	if isIndex && len(nodes) >= len(to) && nodes[len(to)-1] == n.parent {
		old := n.parent.kids
		kids := slices.Insert(slices.Delete(slices.Clone(old), n.index, n.index+1), i, n)
		for place, kid := range kids {
			if kid != old[place] {
				p.splices = append(p.splices, splice{p.chunk(old[place]), p.part(p.chunk(kid))})
			}
		}
		return err
	}
	p.remove(n)
	p.place(nodes, c.To, want, n)
	p.gone = span{}
	return err
}
