package markup

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Tree is a value of YAML without its spelling.
type Tree struct {
	Kind  TreeKind
	Text  string   // of a Leaf
	Keys  []string // of a Mapping: Keys[i] is the key of Items[i]
	Items []Tree   // of a List or a Mapping
}

// TreeKind tells the values of YAML apart.
type TreeKind int

// The kinds of a value.
const (
	Leaf TreeKind = iota
	List
	Mapping
)

// Path leads to a value: a string is a key of a mapping, an int is an index of a list.
type Path []any

// Change is one change of a text.
type Change struct {
	Do    Verb
	Path  Path
	Value Tree // of Set and Insert
	To    Path // of Move
}

// Verb says what a Change does.
type Verb int

// The verbs.
const (
	Set    Verb = iota // Path gets Value. A key that the mapping lacks is added at its end
	Insert             // Value becomes the item at Path, whose last step is an index of a list
	Delete             // the item or the entry at Path goes. An emptied list is [], an emptied mapping {}
	Move               // the item at Path becomes the item at To, where To counts after Path has gone
)

// ErrNotEditable says that the text can't be changed in place: something else would change, too.
var ErrNotEditable = errors.New("this can't be changed here")

// cannot says why a change can't be made. Only developers read it.
func cannot(why any) error { return fmt.Errorf("%w: %v", ErrNotEditable, why) }

// ReadTree returns the value of a text. Aliases are expanded, and a text of spaces and comments alone is an empty Leaf.
func ReadTree(text string) (Tree, error) {
	s, err := ReadDocument(text)
	return s.Tree, err
}

// PathAt returns the path of the innermost item or entry at a line and a column, which count from 1.
func (s *Document) PathAt(line, column int) (path Path) {
	start := s.lineStart(line - 1)
	at := min(start+max(column, 1)-1, s.lineEnd(start))
	for n := s.root; n != nil; {
		i := len(n.kids) - 1
		for i >= 0 && n.kids[i].head > at {
			i--
		}
		if i < 0 || at > s.lineEnd(n.kids[i].end) {
			break
		}
		n = n.kids[i]
		path = append(path, n.step)
	}
	return path
}

// Edit makes changes in a text of YAML, as Document.Edit does.
func Edit(text string, changes ...Change) (edited string, copied bool, err error) {
	s, err := ReadDocument(text)
	if err != nil {
		return text, false, cannot(err)
	}
	s, copied, err = s.Edit(changes...)
	return s.String(), copied, err
}

// Edit makes changes, one after the other. Every other byte stays as it is.
// copied says that a list or mapping with an anchor was copied to its place. Where a change would touch anything else,
// the text stays, and the error is ErrNotEditable.
func (s *Document) Edit(changes ...Change) (edited *Document, copied bool, err error) {
	edited = s
	for _, c := range changes {
		next, unshared, err := edited.change(c)
		if err != nil {
			return s, false, err
		}
		edited, copied = next, copied || unshared
	}
	return edited, copied, nil
}

// String returns the text.
func (s *Document) String() string { return strings.ReplaceAll(string(s.src), lineBreak, "\r\n") }

// Limits of the lists and mappings that are copied for one change.
const (
	maxCopies      = 50
	maxCopiedNodes = 2000 // in each
)

// change makes a change. If it fails, shared lists and mappings at its place are copied, one by one. Then it is tried
// again.
func (s *Document) change(c Change) (changed *Document, copied bool, err error) {
	want, ok := s.Tree.Apply(c)
	switch {
	case !ok || s.root == nil || s.char(s.skip(0)) == '%':
		return nil, false, cannot("no such place, or a text with directives")
	case want.Equal(s.Tree):
		return s, false, nil
	}
	for range maxCopies {
		p := &patch{Document: s}
		if changed, err = p.plan(c, want); err == nil {
			return changed, copied, nil
		}
		next, failed := s.unshare(c)
		if next == nil {
			return nil, false, cmp.Or(failed, err)
		}
		s, copied = next, true
	}
	return nil, false, err
}

// unshare copies the first list or mapping at the places of a change that is shared by & and *. Without one, it
// returns nil.
func (s *Document) unshare(c Change) (*Document, error) {
	nodes, _ := s.chain(c.Path)
	for i := len(nodes) - 1; i < len(nodes); i++ { // with all that is in the last one
		nodes = append(nodes, nodes[i].kids...)
	}
	others, _ := s.chain(c.To)
	for _, n := range append(nodes, others...) {
		p, uses, anchor := &patch{Document: s}, s.uses[n.yaml], ""
		switch {
		case n.yaml.Kind == yaml.AliasNode:
			uses = []*node{n}
		case len(uses) == 0:
			continue
		default: // the first alias becomes the place of the value
			p.put(max(n.start-1, 0), s.wordEnd(n.start), strings.Trim(s.part(span{n.start - 1, n.start}), " "))
			if len(uses) > 1 {
				anchor = " &" + n.yaml.Anchor
			}
		}
		value, err := (&counter{nodes: maxNodes - maxCopiedNodes}).tree(n.yaml, 1)
		if err != nil {
			return nil, cannot(err)
		}
		p.replace(uses[0], value, anchor)
		return p.prove(s.Tree)
	}
	return nil, nil
}
