package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/formulary/formulary/internal/store"
)

var keyTests = []test{
	{"one for each key, until it is deleted", testKeyUsed},
	{"each form and page for itself", testKeysApart},
	{"a repeat is told of its key before all else", testKeyBeforeOnce},
	{"keys are told apart by their bytes", testKeyBytes},
	{"survives updates, a restart and a copy", testKeyKept},
	{"of many repeats one is stored", testConcurrentKeys},
	{"without a key nothing is found", testNoKey},
}

func keyed(n store.New, key string) store.New {
	n.Key, n.Body = key, "body of "+key
	return n
}

// repeated checks that a create is refused because of its key, and that ByKey
// returns what is stored with it.
func (b *bench) repeated(t *testing.T, n store.New, want record) {
	t.Helper()
	if _, err := b.Create(ctx, n); !errors.Is(err, store.ErrKeyUsed) {
		t.Errorf("create with key %q: %v, want %v", n.Key, err, store.ErrKeyUsed)
	}
	sub, body, err := b.ByKey(ctx, n.PageID, n.FormID, n.Key)
	if err != nil {
		t.Fatalf("by key %q: %v", n.Key, err)
	}
	Same(t, "by key", decode(t, sub), want)
	Same(t, "body", body, "body of "+n.Key)
}

func (b *bench) noKey(t *testing.T, pageID int64, formID, key string) {
	t.Helper()
	if sub, _, err := b.ByKey(ctx, pageID, formID, key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("by key %q of %s: submission %d, %v, want %v", key, formID, sub.ID, err, store.ErrNotFound)
	}
}

func testKeyUsed(t *testing.T, b *bench) {
	n := keyed(sample("form", "amy", "x"), "key")
	b.noKey(t, 1, "form", "key")
	first := b.create(t, n)
	other := sample("form", "bob", "something else") // the key decides, not what comes with it
	other.Key = n.Key
	if _, err := b.Create(ctx, other); !errors.Is(err, store.ErrKeyUsed) {
		t.Errorf("create: %v, want %v", err, store.ErrKeyUsed)
	}
	b.repeated(t, n, first)
	second := b.create(t, keyed(n, "another"))
	Same(t, "stored", b.all(t, "form"), []record{first, second})

	b.delete(t, first.key())
	b.noKey(t, 1, "form", "key")
	again := b.create(t, n)
	if again.ID <= second.ID {
		t.Errorf("id %d after %d", again.ID, second.ID)
	}
	b.repeated(t, n, again)
}

func testKeysApart(t *testing.T, b *bench) {
	n := keyed(sample("form", "amy", "x"), "key")
	b.create(t, n)
	for _, elsewhere := range otherForms(n) {
		b.noKey(t, elsewhere.PageID, elsewhere.FormID, "key")
		b.repeated(t, elsewhere, b.create(t, elsewhere))
	}
}

func testKeyBeforeOnce(t *testing.T, b *bench) {
	for _, n := range []store.New{
		withSubmitterKey(sample("named", "amy", "x"), "amy"), withSubmitterKey(sample("anonymous", "", "x"), "hash"),
	} {
		n = keyed(n, "key")
		first := b.create(t, n)
		b.repeated(t, n, first)
		b.refused(t, "with another key", keyed(n, "another"))
		b.noKey(t, 1, n.FormID, "another")
		b.refused(t, "without a key", withSubmitterKey(sample(n.FormID, n.Username, "x"), n.SubmitterKey))
	}
	// One from before the limit counts, and does not hide the key.
	b.create(t, keyed(sample("legacy", "amy", "x"), "key"))
	b.repeated(t, withSubmitterKey(keyed(sample("legacy", "amy", "x"), "key"), "amy"), b.all(t, "legacy")[0])
}

func testKeyBytes(t *testing.T, b *bench) {
	made := map[string]record{}
	for _, text := range texts {
		made[text] = b.create(t, keyed(sample("form", "", text), "key "+text))
	}
	for _, text := range texts {
		b.repeated(t, keyed(sample("form", "", text), "key "+text), made[text])
	}
}

func testKeyKept(t *testing.T, b *bench) {
	n := keyed(sample("form", "", "x"), "key")
	r := b.create(t, n)
	if _, err := b.Update(ctx, r.key(), set(t, "f0", "y")); err != nil {
		t.Fatal(err)
	}
	r.Entries[0].Value = "y" // as it stands now
	b.repeated(t, n, r)
	b.reopen(t)
	b.repeated(t, n, r)
	other := b.another(t)
	other.load(t, b.archived(t)...)
	other.repeated(t, n, r)
	b.delete(t, r.key())
	b.create(t, n)
}

// testConcurrentKeys repeats creates of every kind at the same time, beside
// others that have no key.
func testConcurrentKeys(t *testing.T, b *bench) {
	const keys, repeats = 5, 40
	stored := make([]int, keys)
	errs := Parallel(keys*repeats*2, func(i int) error {
		n := sample("form", "amy", fmt.Sprint(i))
		if i%2 == 0 {
			_, err := b.Create(ctx, n)
			return err
		}
		key := i / 2 % keys
		if key%2 == 0 {
			n = withSubmitterKey(sample("form", "", "x"), fmt.Sprint("once ", key))
		}
		_, err := b.Create(ctx, keyed(n, fmt.Sprint(key)))
		return err
	})
	for i, err := range errs {
		switch {
		case i%2 == 0 && err != nil:
			t.Errorf("create without a key: %v", err)
		case i%2 == 1 && err == nil:
			stored[i/2%keys]++
		case i%2 == 1 && !errors.Is(err, store.ErrKeyUsed):
			t.Errorf("create: %v, want %v", err, store.ErrKeyUsed)
		}
	}
	Same(t, "told that theirs is stored, by key", stored, []int{1, 1, 1, 1, 1})
	Same(t, "stored", len(b.all(t, "form")), keys+keys*repeats)
}

func testNoKey(t *testing.T, b *bench) {
	b.create(t, sample("form", "amy", "x"))
	b.create(t, sample("form", "amy", "x"))
	b.noKey(t, 1, "form", "")
	b.noKey(t, 1, "unknown", "key")
}
