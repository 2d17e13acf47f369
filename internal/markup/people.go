package markup

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// People are who a page names: users, and groups with "@" before them.
type People struct {
	View []string // nil is everybody
	Edit []string
}

// People returns who the page names.
func (m Meta) People() People { return People{m.View.names(), m.Edit.names()} }

// Tag identifies people as they are shown.
func (p People) Tag() string { return Tag(fmt.Sprintf("%#v", p)) }

func (p *Principals) names() []string {
	if p == nil {
		return nil
	}
	names := append([]string{}, p.Users...)
	for _, group := range p.Groups {
		names = append(names, "@"+group)
	}
	return names
}

// IsName reports whether a page can name a user or group so.
func IsName(name string) bool {
	names := []string{name}
	return slices.Equal(readPeople(People{Edit: names}).People().Edit, names) &&
		len(name) <= MaxIDBytes && !strings.ContainsAny(name, "\u2028\u2029")
}

// NewPage is a Markdown page with one form.
type NewPage struct {
	Title string
	Lang  string // a language tag, or ""
	People
	Text string // of its form
}

// Source writes the page. The errors are *forms.Invalid.
func (n NewPage) Source(options *Options) ([]byte, error) {
	title := strings.TrimSpace(n.Title)
	if title == "" || checkText(title) != "" || strings.ContainsAny(title, "\u2028\u2029") {
		return nil, refusal(forms.Say("A page needs a title, on one line."))
	}
	meta := fmt.Sprintf("---\ntitle: %q\n%s", title, writePeople(n.People))
	if n.Lang != "" {
		meta += fmt.Sprintf("lang: %q\n", n.Lang)
	}
	return Open(Markdown, 1, []byte(meta+"---\n"), options).Add(n.Text)
}

// writePeople writes lines of a front matter.
func writePeople(people People) (lines string) {
	if people.View != nil {
		lines = fmt.Sprintf("view: %q\n", people.View)
	}
	return strings.ReplaceAll(lines+fmt.Sprintf("edit: %q\n", people.Edit), `" "`, `", "`)
}

func readPeople(people People) Meta {
	return Parse(Markdown, 1, []byte("---\n"+writePeople(people)+"---\n"), nil).Meta
}

// SetPeople has the front matter name other people, if its people have the Tag. If not, the error is a *Conflict.
func (p *Source) SetPeople(tag string, wanted People) ([]byte, error) {
	now := p.Meta.People()
	changes := []Change{{Do: Set, Path: Path{"edit"}, Value: leaves(wanted.Edit)}}
	switch {
	case p.Unreadable:
		return nil, errUnreadable
	case now.Tag() != tag:
		return nil, &Conflict{People: now}
	case wanted.View != nil:
		changes = append(changes, Change{Do: Set, Path: Path{"view"}, Value: leaves(wanted.View)})
	case now.View != nil:
		changes = append(changes, Change{Do: Delete, Path: Path{"view"}})
	}
	from, to := bytes.IndexByte(p.src, '\n')+1, bytes.LastIndex(p.src[:p.body], []byte("---"))
	if from > to { // there is no front matter
		return nil, errNotProven
	}
	text, _, err := Edit(string(p.src[from:to]), changes...)
	if err != nil {
		return nil, errNotProven
	}
	named := readPeople(wanted)
	p.Meta.View, p.Meta.Edit = named.View, named.Edit // write proves it
	return p.write(from, to, text, -1, -1, "")
}

func leaves(names []string) Tree {
	list := Tree{Kind: List}
	for _, name := range names {
		list.Items = append(list.Items, Tree{Text: name})
	}
	return list
}
