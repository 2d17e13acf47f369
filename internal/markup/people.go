package markup

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// Names lists users and groups, with "@" before a group.
func (p *Principals) Names() []string {
	if p == nil {
		return nil
	}
	names := append([]string{}, p.Users...)
	for _, group := range p.Groups {
		names = append(names, "@"+group)
	}
	return names
}

// CheckName tells why a page can't name a user or group.
func CheckName(name string) *forms.Message {
	read := readPeople(nil, []string{name}).Edit.Names()
	if !slices.Equal(read, []string{name}) || len(name) > MaxIDBytes || strings.ContainsAny(name, "\u2028\u2029") {
		return forms.Say("{0} is not the name of a user or group.", name)
	}
	return nil
}

// NewPage writes a Markdown page with one form. view is nil for everybody. The errors are *forms.Invalid.
func NewPage(title string, view, edit []string, text string, options *Options) ([]byte, error) {
	title = strings.TrimSpace(title)
	if title == "" || checkText(title) != "" || strings.ContainsAny(title, "\u2028\u2029") {
		return nil, refusal(forms.Say("A page needs a title, on one line."))
	}
	meta := fmt.Sprintf("---\ntitle: %q\n%s---\n", title, writePeople(view, edit))
	return Open(Markdown, 1, []byte(meta), options).Add(text)
}

// writePeople writes lines of a front matter. view is nil for everybody.
func writePeople(view, edit []string) (lines string) {
	if view != nil {
		lines = fmt.Sprintf("view: %q\n", view)
	}
	return strings.ReplaceAll(lines+fmt.Sprintf("edit: %q\n", edit), `" "`, `", "`)
}

func readPeople(view, edit []string) Meta {
	return Parse(Markdown, 1, []byte("---\n"+writePeople(view, edit)+"---\n"), nil).Meta
}

// SetPeople has the front matter name other people. view is nil for everybody.
func (p *Source) SetPeople(view, edit []string) ([]byte, error) {
	changes := []Change{{Do: Set, Path: Path{"edit"}, Value: leaves(edit)}}
	switch {
	case view != nil:
		changes = append(changes, Change{Do: Set, Path: Path{"view"}, Value: leaves(view)})
	case p.Meta.View != nil:
		changes = append(changes, Change{Do: Delete, Path: Path{"view"}})
	}
	if p.Unreadable {
		return nil, errUnreadable
	}
	from, to := bytes.IndexByte(p.src, '\n')+1, bytes.LastIndex(p.src[:p.body], []byte("---"))
	if from > to { // there is no front matter
		return nil, errNotProven
	}
	text, _, err := Edit(string(p.src[from:to]), changes...)
	changed := p.splice(from, to, text)
	after, wanted, named := Parse(p.Format, p.ID, changed, nil), p.Meta, readPeople(view, edit)
	wanted.View, wanted.Edit, wanted.Names = named.View, named.Edit, after.Meta.Names
	if err != nil || !after.MetaRead || after.ID != p.ID || !reflect.DeepEqual(after.Meta, wanted) {
		return nil, errNotProven
	}
	return changed, nil
}

func leaves(names []string) Tree {
	list := Tree{Kind: List}
	for _, name := range names {
		list.Items = append(list.Items, Tree{Text: name})
	}
	return list
}
