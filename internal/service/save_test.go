package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/testsite"
)

var (
	alice = auth.Identity{Name: "alice", Groups: []string{"hr"}}
	bob   = auth.Identity{Name: "bob"}
)

// author is a service over a directory of pages.
type author struct {
	*Service
	site *testsite.Site
	t    *testing.T
}

func newAuthor(t *testing.T, files map[string]string, authors ...string) *author {
	t.Helper()
	site := testsite.New(t, files)
	unknown := func(name string) string { return map[bool]string{true: "correct it"}[name == "nobody"] }
	return &author{New(Options{
		Pages: site.Pages, Store: site.Store, Files: site.Store, AnonymousKey: testsite.Key, Now: site.Clock.Now,
		MaxSubmission: 1000, Authors: authors, Markup: &markup.Options{UnknownName: unknown}, Log: site.Logger,
	}), site, t}
}

func text(id, label string) string {
	return fmt.Sprintf("form: %s\nfields:\n  - {id: f, type: textfield, label: %s}\n", id, label)
}

func page(meta string, texts ...string) string {
	source := "---\n" + meta + "\n---\n"
	for _, text := range texts {
		source += "\n```yaml form\n" + text + "```\n"
	}
	return source
}

// block opens a form of page 1.
func (a *author) block(who auth.Identity, formID string) *Block {
	a.t.Helper()
	block, err := a.Block(a.t.Context(), who, 1, formID)
	testkit.Must(a.t, err)
	return block
}

// added is a new block of page 1.
func (a *author) added(who auth.Identity) *Block {
	a.t.Helper()
	block, err := a.NewBlock(a.t.Context(), who, 1)
	testkit.Must(a.t, err)
	return block
}

// serves is the label of the first field of a form.
func (a *author) serves(pageID int64, formID string) string {
	if page := a.site.Pages.LastKnown(pageID); page != nil && page.Form(formID) != nil {
		return page.Form(formID).Fields[0].Label
	}
	return ""
}

func (a *author) submits(pageID int64, formID, fieldID string) {
	a.t.Helper()
	form, err := a.Form(a.t.Context(), alice, pageID, formID)
	testkit.Must(a.t, err)
	_, _, err = form.Create(a.t.Context(), []forms.Answer{{FieldID: fieldID, Value: "x"}}, "")
	testkit.Must(a.t, err)
}

func TestWhoMaySave(t *testing.T) {
	for _, tt := range []struct {
		meta    string
		authors string
		want    error
	}{
		{"edit: [alice]", "", ErrSavingOff},
		{"edit: [alice]", "bob", ErrNoAuthor},
		{"edit: [alice]", "@alice", ErrNoAuthor},
		{"edit: [alice]", "alice", nil},
		{"edit: '@hr'", "bob @hr", nil},
		{"edit: [alice]", "*", nil},
		{"title: x", "*", ErrUnmanaged},
		{"view: [alice]\nedit: [bob]", "*", ErrNotNamed},
	} {
		a := newAuthor(t, map[string]string{"1.md": page(tt.meta, text("a", "one"))}, strings.Fields(tt.authors)...)
		ctx, name := t.Context(), tt.meta+" "+tt.authors
		view, err := a.Page(ctx, alice, 1)
		testkit.Must(t, err)
		testkit.ErrorIs(t, name, view.NotSaved, tt.want)
		added := a.added(alice)
		testkit.ErrorIs(t, name+", a new block", added.MaySave(), tt.want)
		if errors.Is(tt.want, ErrNotNamed) {
			continue // nor may alice open the block
		}
		block := a.block(alice, "a")
		testkit.ErrorIs(t, name+", a block", block.MaySave(), tt.want)
		if err := block.Save(ctx, block.Tag(), text("a", "two")); (err == nil) != (tt.want == nil) {
			t.Errorf("%s: saved with %v", name, err)
		}
		testkit.Same(t, name, a.serves(1, "a") == "two", tt.want == nil)
		testkit.ErrorIs(t, name+", a form is added", added.Save(ctx, "", text("b", "new")), tt.want)
	}
	w := newWorld(t)
	testkit.ErrorIs(t, "no directory", w.MayAuthor(editor), ErrSavingInWiki)
}

func TestSave(t *testing.T) {
	a := newAuthor(t, map[string]string{"1.md": page("edit: [alice]", text("a", "one"), text("b", "one"))}, "*")
	ctx, block := t.Context(), a.block(alice, "a")
	if former, _ := block.Former(); former != "" {
		t.Errorf("former text %q of a page that was never saved", former)
	}
	testkit.Must(t, block.Save(ctx, block.Tag(), text("a", "two")))
	testkit.Must(t, block.Save(ctx, block.Tag(), text("a", "two"))) // sent twice
	conflict, _ := errors.AsType[*Conflict](block.Save(ctx, block.Tag(), text("a", "three")))
	testkit.Diff(t, "conflict", conflict, &Conflict{Text: text("a", "two")})
	testkit.Contains(t, "log", a.site.Logs.String(), `"msg":"form saved","user":"alice","page":1,"form":"a"`)

	now := a.block(alice, "a")
	former, at := now.Former()
	if former != text("a", "one") || time.Since(at) > time.Hour {
		t.Errorf("formerly %q at %v", former, at)
	}
	other := a.block(alice, "b")
	if former, _ := other.Former(); former != "" {
		t.Errorf("formerly %q of a form that has not changed", former)
	}
	a.submits(1, "a", "f")
	for name, refused := range map[string]string{"another id": text("c", "x"), "errors": "form: a\n"} {
		if _, invalid := errors.AsType[*forms.Invalid](now.Save(ctx, now.Tag(), refused)); !invalid {
			t.Errorf("%s: saved", name)
		}
	}
	testkit.Must(t, other.Save(ctx, other.Tag(), text("c", "x"))) // it has no submissions
	testkit.Must(t, other.Save(ctx, other.Tag(), text("c", "x"))) // sent twice

	testkit.Must(t, now.Save(ctx, now.Tag(), strings.Replace(text("a", "x"), "id: f", "id: g, was: f", 1)))
	a.submits(1, "a", "g")
	ids, err := a.block(alice, "a").StoredIDs(ctx)
	if err != nil || !slices.Equal(ids, []string{"f", "g"}) {
		t.Errorf("stored are %q, %v", ids, err)
	}
}

// A person saves one thing at a time, and others at the same time.
func TestOneSaveAtATime(t *testing.T) {
	a := newAuthor(t, map[string]string{"1.md": page("edit: [alice, bob]", text("a", "one"))}, "*")
	err := a.saving(alice, "outer", "", func(*pages.Directory) (int64, error) {
		busy, _ := errors.AsType[*Error](a.saving(alice, "inner", "", nil))
		if busy == nil || busy.Kind != TooMany {
			t.Errorf("a second save: %v", busy)
		}
		return 0, a.saving(bob, "another's", "", func(*pages.Directory) (int64, error) { return 0, nil })
	})
	testkit.Must(t, err)
}

func TestRemoveAndUndo(t *testing.T) {
	a := newAuthor(t, map[string]string{"1.md": page("edit: [alice]", text("a", "one"), text("b", "one"))}, "*")
	ctx := t.Context()
	remove := func(formID string) Removed {
		t.Helper()
		removed, err := a.block(alice, formID).Remove(ctx, a.block(alice, formID).Tag())
		testkit.Must(t, err)
		testkit.Same(t, "served after Remove", a.serves(1, formID), "")
		return removed
	}
	removed := remove("a")
	testkit.Must(t, a.Undo(ctx, alice, removed))
	testkit.Same(t, "served after Undo", a.serves(1, "a"), "one")
	if a.Undo(ctx, alice, removed) == nil {
		t.Error("undone twice")
	}
	remove("a")
	removed = remove("b")
	if a.site.Pages.LastKnown(1) != nil || removed.After != "" {
		t.Error("the page is still there")
	}
	testkit.Must(t, a.Undo(ctx, alice, removed))
	testkit.Same(t, "served after the page is back", a.serves(1, "b"), "one")
	_, err := a.block(alice, "b").Remove(ctx, "another tag")
	conflict, _ := errors.AsType[*Conflict](err)
	testkit.Diff(t, "conflict", conflict, &Conflict{Text: text("b", "one")})
}

// A form whose id can't be read can be removed.
func TestRemoveABrokenForm(t *testing.T) {
	a := newAuthor(t, map[string]string{"1.md": page("edit: [alice]", text("a", "one"), "fields: [\n")}, "*")
	block := a.block(alice, "b")
	_, err := block.Remove(t.Context(), block.Tag())
	testkit.Must(t, err)
	if page := a.site.Pages.LastKnown(1); len(page.Blocks) != 1 {
		t.Errorf("%d blocks", len(page.Blocks))
	}
}

// Undo takes back what this person has removed here. The former page may name people who were removed since.
func TestUndoIsNotForged(t *testing.T) {
	a := newAuthor(t, map[string]string{"1.md": page("edit: [alice, bob]", text("a", "one"), text("b", "one"))}, "*")
	ctx := t.Context()
	removed, err := a.block(bob, "a").Remove(ctx, a.block(bob, "a").Tag())
	testkit.Must(t, err)
	shown := People{Edit: []string{"alice", "bob"}}
	testkit.Must(t, a.added(alice).SetPeople(ctx, shown.Tag(), People{Edit: []string{"alice"}}))
	a.site.Remove(t, "1.md") // by hand: the former file names bob
	_, proof, _ := strings.Cut(removed.Before, ".")
	for _, forged := range []Removed{
		{1, "a", removed.After + "." + proof, ""}, {1, "a", removed.After, ""}, {1, "a", removed.Before, ""}, removed,
	} {
		if a.Undo(ctx, bob, forged) == nil {
			t.Errorf("%+v was undone", forged)
		}
	}
	if a.site.Pages.LastKnown(1) != nil {
		t.Error("the page is back")
	}
}

// The id of a page that had answers is never used again.
func TestNewPage(t *testing.T) {
	a := newAuthor(t, map[string]string{"7.md": page("edit: [alice]", text("a", "one"))}, "alice", "bob")
	ctx := t.Context()
	a.submits(7, "a", "f")
	a.site.Remove(t, "7.md")
	create := func(who auth.Identity, people People) (int64, error) {
		id, err := a.NewPage(ctx, who, markup.NewPage{Title: "Lunch", People: people, Text: text("a", "new")}, 7)
		if err == nil {
			testkit.Same(t, "served", a.serves(id, "a"), "new")
		}
		return id, err
	}
	id, err := create(alice, People{View: []string{"@all"}, Edit: []string{"alice"}})
	testkit.Must(t, err)
	testkit.Same(t, "id", id, 8)
	id, err = create(alice, People{View: []string{"@all"}, Edit: []string{"alice"}})
	testkit.Must(t, err)
	testkit.Same(t, "id of what was sent twice", id, 8)
	if len(a.listed(bob)) != 0 || len(a.listed(alice)) != 1 {
		t.Error("people of the page are not those that were named")
	}
	_, err = create(auth.Identity{Name: "carol"}, People{Edit: []string{"carol"}})
	testkit.ErrorIs(t, "no author", err, ErrNoAuthor)
	_, err = create(auth.Identity{Name: "carol"}, People{Edit: []string{"nobody"}})
	testkit.ErrorIs(t, "no author, who asks for users", err, ErrNoAuthor)
	for name, tt := range map[string]struct {
		people People
		field  string
	}{
		"not the author": {People{Edit: []string{"alice"}}, "edit"},
		"unknown":        {People{Edit: []string{"bob"}, View: []string{"nobody"}}, "view"},
		"two names":      {People{Edit: []string{"bob", "a:b"}}, "edit"},
	} {
		_, err := create(bob, tt.people)
		if invalid, _ := errors.AsType[*forms.Invalid](err); invalid == nil || invalid.Fields[tt.field] == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (a *author) listed(who auth.Identity) PageList {
	list, err := a.Pages(a.t.Context(), who)
	testkit.Must(a.t, err)
	return list
}

func TestSetPeople(t *testing.T) {
	a := newAuthor(t, map[string]string{"1.md": page("edit: [alice]", text("a", "one"))}, "*")
	ctx := t.Context()
	shown := a.block(alice, "a").People()
	testkit.Diff(t, "people", shown, People{Edit: []string{"alice"}})
	wanted := People{View: []string{"@staff"}, Edit: []string{"@hr", "bob"}}
	testkit.Must(t, a.added(alice).SetPeople(ctx, shown.Tag(), wanted))
	conflict, _ := errors.AsType[*Conflict](a.added(bob).SetPeople(ctx, shown.Tag(), People{Edit: []string{"bob"}}))
	if conflict == nil {
		t.Fatal("no conflict")
	}
	testkit.Diff(t, "conflict", conflict.People, People{View: []string{"@staff"}, Edit: []string{"bob", "@hr"}})
	if err := a.added(bob).SetPeople(ctx, conflict.People.Tag(), People{Edit: []string{"alice"}}); err == nil {
		t.Error("bob has locked himself out")
	}
	err := a.added(alice).SetPeople(ctx, conflict.People.Tag(), People{Edit: []string{"alice"}}) // in hr, which manages the page
	testkit.Must(t, err)
	err = a.added(auth.Identity{Name: "staff1", Groups: []string{"staff"}}).SetPeople(ctx, shown.Tag(), People{Edit: []string{"nobody"}})
	testkit.ErrorIs(t, "no editor, who asks for users", err, ErrNotNamed)
	a.submits(1, "a", "f")
	counts, err := a.added(alice).Counts(ctx)
	testkit.Must(t, err)
	testkit.Diff(t, "counts", counts, map[string]int{"a": 1})
}

// A fault of the server is logged with its cause, and has the status of such a fault.
func TestErrorsOfWritingAreFaults(t *testing.T) {
	for _, err := range []error{pages.ErrReadOnly, pages.ErrUnavailable} {
		got, _ := errors.AsType[*Error](Explain(fmt.Errorf("save: %w", err)))
		if got == nil || got.Kind != Unavailable || !errors.Is(got, err) {
			t.Errorf("%v: got %v", err, got)
		}
	}
}

func TestAuthors(t *testing.T) {
	for authors, want := range map[string]string{"ann": "ann", "ann,@hr": "ann,bob", "*": "ann,bob"} {
		s := &Service{opts: Options{Authors: strings.Split(authors, ",")}}
		testkit.Same(t, authors, strings.Join(s.Authors([]string{"ann", "bob"}), ","), want)
	}
}
