package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

var definitionTests = []test{
	{"each is stored once", testDefinitions},
	{"of all kinds of creates", testDefinitionOfCreates},
	{"none is known", testNoDefinition},
	{"go a day after the last submission", testDefinitionsGo},
	{"of one page or form only", testDefinitionsOfOthers},
	{"after a create that fails", testDefinitionOfFailedCreate},
	{"large and different ones in one batch", testLargeDefinitions},
	{"while last submissions are deleted", testDefinitionsWhileDeleting},
	{"copied", testDefinitionsCopied},
}

// asked is a submission that was checked against a definition.
func asked(n store.New, text string) store.New {
	n.Definition = forms.NewDefinition(`{"formId": "` + n.FormID + `", "` + text + `"}`)
	return n
}

// askedAs checks the definition of a submission.
func (b *bench) askedAs(t *testing.T, r record, want store.New) {
	t.Helper()
	got, err := b.Definition(ctx, r.key())
	if err != nil {
		t.Fatal(err)
	}
	Same(t, "definition", got, want.Definition)
}

// definitions checks how many are stored.
func (b *bench) definitions(t *testing.T, want int) {
	t.Helper()
	Same(t, "definitions", b.sql(t, b.Engine, b.dir, `SELECT CAST(count(*) AS text) FROM definitions`), fmt.Sprint(want))
}

func testDefinitions(t *testing.T, b *bench) {
	one, two, other := asked(sample("form", "amy", "x"), "1"), asked(sample("form", "amy", "x"), "2 é"), asked(sample("other", "amy", "x"), "1")
	first, second, third, fourth := b.create(t, one), b.create(t, two), b.create(t, one), b.create(t, other)
	Same(t, "ids", []int64{first.ID, second.ID, third.ID, fourth.ID}, []int64{1, 2, 3, 4})
	b.change(t, first, changed, "bob")
	b.definitions(t, 3)
	b.reopen(t)
	fifth := b.create(t, two)
	b.definitions(t, 3)
	ofForm, err := b.FormDefinitions(t.Context(), 1, "form")
	if err != nil || len(ofForm) != 2 || !slices.Contains(ofForm, one.Definition) || !slices.Contains(ofForm, two.Definition) {
		t.Errorf("definitions of the form: %q, %v", ofForm, err)
	}
	for want, records := range map[*store.New][]record{&one: {first, third}, &two: {second, fifth}, &other: {fourth}} {
		for _, r := range records {
			b.askedAs(t, r, *want)
		}
	}
}

func testDefinitionOfCreates(t *testing.T, b *bench) {
	for i, kind := range []func(n *store.New){
		func(n *store.New) { n.Key, n.Body = "key", "body" },
		func(n *store.New) { n.SubmitterKey = "amy" },
		func(n *store.New) { n.Limit = 5 },
		func(n *store.New) { n.Files = []forms.StoredFile{b.stage(t, "a", []byte("a"))} },
		func(*store.New) {},
	} {
		for told := range 2 {
			n := asked(sample(fmt.Sprint("form", i, told), "amy", "x"), fmt.Sprint(i))
			kind(&n)
			n.Events = make([]store.Event, told)
			b.askedAs(t, b.create(t, n), n)
		}
	}
	b.definitions(t, 10)
}

func testNoDefinition(t *testing.T, b *bench) {
	known, unknown := b.create(t, asked(sample("form", "amy", "x"), "1")), b.create(t, sample("form", "amy", "x"))
	for what, key := range map[string]store.Key{
		"none": unknown.key(), "no submission": {PageID: 1, FormID: "form", ID: unknown.ID + 1},
		"another form": {PageID: 1, FormID: "other", ID: known.ID}, "another page": {PageID: 2, FormID: "form", ID: known.ID},
		"no id": {PageID: 1, FormID: "form", ID: 1<<40 | known.ID}, "a negative id": {PageID: 1, FormID: "form", ID: -known.ID},
	} {
		if d, err := b.Definition(ctx, key); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v, %v", what, d, err)
		}
	}
}

func testDefinitionsGo(t *testing.T, b *bench) {
	n, changed, other := asked(sample("form", "amy", "x"), "1"), asked(sample("form", "amy", "x"), "2"), asked(sample("other", "amy", "x"), "3")
	first, second, third := b.create(t, n), b.create(t, changed), b.create(t, other)
	b.delete(t, first.key())
	b.passDayOfDefinitions(t)
	b.definitions(t, 3)
	b.delete(t, second.key())
	b.reopen(t) // a store remembers for some minutes what is stored
	fourth := b.create(t, n)
	b.delete(t, fourth.key())
	b.sweepDefinitions(t)
	b.definitions(t, 2) // the one of the fourth was used within the day
	b.passDayOfDefinitions(t)
	b.definitions(t, 1)
	b.askedAs(t, third, other)
	b.reopen(t)
	b.askedAs(t, b.create(t, n), n) // it is stored again
	b.definitions(t, 2)
}

func (b *bench) sweepDefinitions(t *testing.T) {
	t.Helper()
	if err := b.SweepDefinitions(ctx); err != nil {
		t.Fatal(err)
	}
}

// passDayOfDefinitions lets a day pass before a sweep.
func (b *bench) passDayOfDefinitions(t *testing.T) {
	t.Helper()
	b.sql(t, b.Engine, b.dir, `UPDATE definitions SET stored = stored - 86400000 RETURNING 'x'`)
	b.sweepDefinitions(t)
}

// testDefinitionsOfOthers: that one form has a definition does not hide that another one has not.
func testDefinitionsOfOthers(t *testing.T, b *bench) {
	var records []record
	n := asked(sample("form", "amy", "x"), "1")
	for _, page := range []int64{1, 2} {
		for _, form := range []string{"form", "other"} {
			n.PageID, n.FormID = page, form
			records = append(records, b.create(t, n))
		}
	}
	b.definitions(t, 4)
	for _, r := range records {
		b.askedAs(t, r, n)
	}
	b.copied(t).definitions(t, 4)
	b.sql(t, b.Engine, b.dir, `DELETE FROM definitions WHERE page_id = 2 AND form_id = 'form' RETURNING 'x'`)
	if err := EachDumped(b.Dump(ctx), func(store.Record) error { return nil }, nil); err == nil || !strings.Contains(err.Error(), "submission 3 has lost the definition") {
		t.Error(err)
	}
}

func testDefinitionOfFailedCreate(t *testing.T, b *bench) {
	n := asked(sample("form", "amy", "x"), "1")
	failing := n
	failing.Files = []forms.StoredFile{{ID: 1 << 40, FieldID: "f", Name: "gone"}}
	if _, err := b.Create(ctx, failing); !errors.Is(err, store.ErrNoFile) {
		t.Fatal(err)
	}
	b.askedAs(t, b.create(t, n), n)
	refusal := errors.New("refused")
	if err := b.Delete(ctx, b.all(t, "form")[0].key(), func(forms.Submission) error { return refusal }); !errors.Is(err, refusal) {
		t.Fatal(err)
	}
	b.definitions(t, 1)
}

func testLargeDefinitions(t *testing.T, b *bench) {
	const count = 40
	news, made := make([]store.New, count), make([]record, count)
	NoErrors(t, "create", Parallel(count, func(i int) error {
		news[i] = asked(sample("form", "amy", "x"), fmt.Sprint(i%10)+strings.Repeat("x", 300<<10))
		sub, err := b.Create(ctx, news[i])
		made[i] = record{ID: sub.ID, PageID: 1, FormID: "form"}
		return err
	}))
	for i, r := range made {
		b.askedAs(t, r, news[i])
	}
	b.definitions(t, 10)
}

// testDefinitionsWhileDeleting creates, deletes and sweeps at the same time, so that forms lose their last submission
// again and again. Whatever is stored has its definition, and nothing else is left a day later.
func testDefinitionsWhileDeleting(t *testing.T, b *bench) {
	CreateAndDelete(t, b.Engine, b.Engine)
	b.passDayOfDefinitions(t)
	b.definitions(t, 0)
}

// CreateAndDelete creates and deletes the submissions of few forms with some stores of one database, and checks that
// each has its definition while it is stored.
func CreateAndDelete(t *testing.T, stores ...store.Engine) {
	t.Helper()
	var group sync.WaitGroup
	for i, s := range stores {
		for form := range 2 {
			for user := range 2 {
				n := asked(sample(fmt.Sprint("form", form), "amy", "x"), fmt.Sprint((i+user)%2))
				group.Go(func() {
					for range 100 {
						if err := createAndDelete(s, n); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
		}
	}
	group.Wait()
}

func createAndDelete(s store.Engine, n store.New) error {
	sub, err := s.Create(ctx, n)
	if err != nil {
		return err
	}
	key := store.Key{PageID: sub.PageID, FormID: sub.FormID, ID: sub.ID}
	found, err := s.Definition(ctx, key)
	if err == nil && found != n.Definition {
		err = fmt.Errorf("the definition is %q, want %q", found.Text, n.Definition.Text)
	}
	return errors.Join(err, s.Delete(ctx, key, nil), s.SweepDefinitions(ctx))
}

func testDefinitionsCopied(t *testing.T, b *bench) {
	var records []record
	news := []store.New{
		asked(sample("form", "amy", "x"), "1"), asked(sample("form", "amy", "x"), "2"), asked(sample("form", "amy", "x"), "1"),
		asked(sample("other", "amy", "x"), "1"), sample("plain", "amy", "x"),
	}
	for _, n := range news {
		records = append(records, b.create(t, n))
	}
	to := b.copied(t)
	for i, r := range records[:4] {
		to.askedAs(t, r, news[i])
	}
	to.definitions(t, 3)
	to.clear(t)
	to.definitions(t, 0)
	to.askedAs(t, to.create(t, news[0]), news[0])
}
