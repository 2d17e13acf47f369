package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

var changeTests = []test{
	{"a new submission was changed by its creation", testUnchanged},
	{"kept with an update", testChanged},
	{"kept by an update that tells none", testChangeKept},
	{"without a name", testChangedByNobody},
	{"copied", testChangeCopied},
}

// changed is a moment that is stored to the millisecond.
var changed = created.Add(time.Hour + time.Microsecond)

// lastChange is what tests look at.
type lastChange struct {
	At time.Time
	By string
}

func changeOf(sub forms.Submission) lastChange { return lastChange{sub.Changed, sub.Changer} }

// changes checks the last change of a submission on all ways to read it.
func (b *bench) changes(t *testing.T, key store.Key, want lastChange) {
	t.Helper()
	sub, err := b.Get(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	Same(t, "read", changeOf(sub), want)
	queries := []store.Query{{}, {Descending: true}, {IDs: []int64{key.ID}}}
	if sub.Username != "" {
		for _, q := range queries {
			q.Username = &sub.Username
			queries = append(queries, q)
		}
	}
	for _, q := range queries {
		q.PageID, q.FormID, q.Changes = key.PageID, key.FormID, true
		found := 0
		err := testkit.Each(b.Scan(ctx, q), func(s forms.Submission) error {
			if s.ID == key.ID {
				found++
				Same(t, "listed", changeOf(s), want)
			}
			return nil
		})
		if err != nil || found != 1 {
			t.Errorf("list %+v: found %d times, %v", q, found, err)
		}
	}
}

func (b *bench) change(t *testing.T, r record, at time.Time, by string) forms.Submission {
	t.Helper()
	sub, err := b.Update(ctx, r.key(), func(s forms.Submission) (store.Change, error) {
		entries, err := s.Entries.Decode()
		return store.Change{Entries: entries, Changed: at, Changer: by}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func testUnchanged(t *testing.T, b *bench) {
	n := sample("form", "amy", "x")
	n.Key, n.Body = "key", "body"
	sub, err := b.Create(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	want := lastChange{created, "amy"}
	Same(t, "created", changeOf(sub), want)
	b.changes(t, decode(t, sub).key(), want)
	byKey, _, err := b.ByKey(ctx, 1, "form", "key")
	if err != nil {
		t.Fatal(err)
	}
	Same(t, "by key", changeOf(byKey), want)
}

func testChanged(t *testing.T, b *bench) {
	n := sample("form", "amy", "x")
	n.Key, n.Body = "key", "body"
	r := b.create(t, n)
	want := lastChange{changed.Truncate(time.Millisecond), "bob"}
	Same(t, "updated", changeOf(b.change(t, r, changed, "bob")), want)
	b.changes(t, r.key(), want)
	byKey, _, err := b.ByKey(ctx, 1, "form", "key")
	if err != nil {
		t.Fatal(err)
	}
	Same(t, "by key", changeOf(byKey), want)
	b.reopen(t)
	b.changes(t, r.key(), want)
	Same(t, "otherwise", b.get(t, r.key()), r)
}

func testChangeKept(t *testing.T, b *bench) {
	r := b.create(t, sample("form", "amy", "x"))
	b.change(t, r, time.Time{}, "nobody asks")
	b.changes(t, r.key(), lastChange{created, "amy"})
	b.change(t, r, changed, "bob")
	want := lastChange{changed.Truncate(time.Millisecond), "bob"}
	Same(t, "updated again", changeOf(b.change(t, r, time.Time{}, "")), want)
	b.changes(t, r.key(), want)
}

func testChangedByNobody(t *testing.T, b *bench) {
	for _, username := range []string{"", "amy"} {
		r := b.create(t, sample("form", username, "x"))
		b.change(t, r, changed, "")
		b.changes(t, r.key(), lastChange{changed.Truncate(time.Millisecond), ""})
	}
}

// copied is another database with the same submissions.
func (b *bench) copied(t *testing.T) *bench {
	t.Helper()
	var records []store.Record
	err := EachDumped(b.Dump(ctx), func(r store.Record) error {
		r.Entries, r.Open = slices.Clone(r.Entries), nil
		records = append(records, r)
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	to := b.another(t)
	if err := to.Load(ctx, records); err != nil {
		t.Fatal(err)
	}
	return to
}

func testChangeCopied(t *testing.T, b *bench) {
	plain, touched := b.create(t, sample("form", "amy", "x")), b.create(t, sample("form", "amy", "x"))
	b.change(t, touched, changed, "bob")
	to := b.copied(t)
	to.changes(t, plain.key(), lastChange{created, "amy"})
	to.changes(t, touched.key(), lastChange{changed.Truncate(time.Millisecond), "bob"})
}
