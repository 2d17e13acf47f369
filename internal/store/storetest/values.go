package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

var valueTests = []test{
	{"values come back exactly", testValues},
	{"a long value", testLongValue},
	{"form ids are told apart by their bytes", testFormIDs},
	{"user names are told apart by their bytes", testUsernames},
	{"created to the millisecond, in UTC", testCreated},
}

// texts are easily confused with others, or changed by a wrong conversion.
var texts = []string{
	"a", "A", "a ", " a", "a\u00a0", "a\n",
	"\u00e9", "e\u0301", "\u00c9", // é composed and decomposed; É
	"\u212a", "K", "k", // the Kelvin sign folds to k
	"ß", "ss", "ı", "i", "I", "İ",
	"日本語", "🙂", "👩\u200d👩\u200d👧", "\u202eright to left", "\ufeffbom", "\ufffd",
	`"`, `'`, `\`, `\\`, `\"`, `\u0041`, `\n`, `''`, "`", `{"id":1}`, `","value":"`, `};{`, `%`, `_`, `*`, `?1`, `:a`, `$1`, `--`, `/*`,
	"NULL", "null", "0", "1", "01", "1.0", "1e3", "0x41", "+1", "true",
	"\u2028", "\u2029", "\u0085", "<script>", "&amp;", "\u007f",
}

func controlCharacters() string {
	var all strings.Builder
	for c := rune(1); c < 0x20; c++ { // NUL is refused long before it gets here
		all.WriteRune(c)
	}
	return all.String()
}

func testValues(t *testing.T, b *bench) {
	values := append([]string{"", " ", controlCharacters(), "a" + controlCharacters() + "b"}, texts...)
	n := store.New{PageID: 1, FormID: "form", Created: created}
	for i, v := range values {
		n.Entries = append(n.Entries, forms.Entry{FieldID: fmt.Sprintf("%d %s", i, v), Value: v})
	}
	want := append([]forms.Entry(nil), n.Entries...)
	r := b.create(t, n)
	for i := range want {
		want[i].ID = 8192*r.ID + int64(i+1)
	}
	Same(t, "created", r.Entries, want)
	Same(t, "found", b.get(t, r.key()).Entries, want)
	Same(t, "listed", b.all(t, "form")[0].Entries, want)
	b.reopen(t)
	Same(t, "found again", b.get(t, r.key()).Entries, want)
}

func testLongValue(t *testing.T, b *bench) {
	long := strings.Repeat("0123456789abcde\n", 1<<16) // 1 MiB
	r := b.create(t, sample("form", "amy", "before", long, "after"))
	for what, got := range map[string]record{"found": b.get(t, r.key()), "listed": b.all(t, "form")[0]} {
		if len(got.Entries) != 3 || got.Entries[1].Value != long || got.Entries[2].Value != "after" {
			t.Errorf("%s: the long value is not what was stored", what)
		}
	}
}

func testFormIDs(t *testing.T, b *bench) {
	ids := append([]string{""}, texts...)
	want := map[string]record{}
	for _, id := range ids {
		want[id] = b.create(t, sample(id, "amy", id))
	}
	for _, id := range ids {
		Same(t, fmt.Sprintf("form %q", id), b.all(t, id), []record{want[id]})
		Same(t, fmt.Sprintf("form %q", id), b.get(t, want[id].key()), want[id])
	}
}

func testUsernames(t *testing.T, b *bench) {
	want := map[string]record{}
	for _, name := range texts {
		want[name] = b.create(t, withSubmitterKey(sample("form", name, name), name))
	}
	for _, name := range texts {
		got := b.scan(t, store.Query{PageID: 1, FormID: "form", Username: &name})
		Same(t, fmt.Sprintf("user %q", name), got, []record{want[name]})
	}
}

func testCreated(t *testing.T, b *bench) {
	kathmandu := time.FixedZone("", 5*3600+45*60)
	for _, moment := range []time.Time{
		time.Date(2024, 3, 10, 23, 59, 59, 999_999_999, kathmandu),
		time.Date(2024, 3, 10, 0, 0, 0, 1_000_000, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 59, 999_400_000, time.UTC),
		time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Now(), // has a monotonic reading, which must not come along
	} {
		n := sample("form", "amy", "x")
		n.Created = moment
		r := b.create(t, n)
		for what, got := range map[string]time.Time{"created": r.Created, "found": b.get(t, r.key()).Created} {
			if want := moment.Truncate(time.Millisecond); !got.Equal(want) || got.Location() != time.UTC {
				t.Errorf("%s at %v, want %v", what, got, want.UTC())
			}
		}
	}
}
