package forms

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/testkit"
)

// storedText draws what may be stored: any valid UTF-8 without NUL. Awkward
// characters come up far more often than by chance.
var storedText = rapid.OneOf(
	rapid.StringMatching(`["\\{}:,idfelvau0-9\n\t\r]{0,12}`),
	rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 })),
	rapid.SampledFrom([]string{"", `\`, `\\`, `"`, `\"`, `","value":"`, "\u2028", "\ufffd", "\U0010ffff", "\x7f", "\x1f", "😀", "</script>"}),
)

var storedEntries = rapid.SliceOfNDistinct(
	rapid.Custom(func(t *rapid.T) Entry {
		return Entry{
			ID:      rapid.Int64Min(0).Draw(t, "id"),
			FieldID: storedText.Draw(t, "field id"),
			Value:   storedText.Draw(t, "value"),
		}
	}), 0, 6, func(e Entry) string { return e.FieldID })

// Entries survive storage. Lists copy the encoding out as the nested model's
// "fields", so it must mean to every JSON reader what it means here.
func TestEntriesAreTheFieldsMemberOfTheNestedModel(t *testing.T) {
	type wireEntry struct {
		ID      int64  `json:"id"`
		FieldID string `json:"fieldId"`
		Value   string `json:"value"`
	}
	rapid.Check(t, func(t *rapid.T) {
		entries := storedEntries.Draw(t, "entries")
		want := map[string]wireEntry{}
		for _, e := range entries {
			want[e.FieldID] = wireEntry(e)
		}
		encoded := EncodeEntries(nil, entries)
		decoded, err := encoded.Decode()
		if diff := cmp.Diff(entries, decoded, cmpEmptyAsNil); err != nil || diff != "" {
			t.Fatalf("decode %q: %v (-want +got):\n%s", encoded, err, diff)
		}
		var got map[string]wireEntry
		if err := json.Unmarshal(encoded, &got); err != nil {
			t.Fatalf("not JSON: %v", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestEncodingIsExactly(t *testing.T) {
	entries := []Entry{{1, "a", `x"y`}, {math.MaxInt64, "b c", "1;2\n"}}
	want := `prefix{"a":{"id":1,"fieldId":"a","value":"x\"y"},"b c":{"id":9223372036854775807,"fieldId":"b c","value":"1;2\n"}}`
	testkit.Diff(t, "", string(EncodeEntries([]byte("prefix"), entries)), want)
	testkit.Same(t, "no entries", string(EncodeEntries(nil, nil)), "{}")
}

func TestNumberEntries(t *testing.T) {
	const last = MaxSubmissionID<<13 | MaxEntries
	if last != 1<<53-1 {
		t.Errorf("the highest id is %d", int64(last))
	}
	for _, tt := range []struct {
		submission int64
		had, want  []int64
	}{
		{1, nil, nil},
		{1, []int64{0, 0, 0}, []int64{8193, 8194, 8195}},
		{2, []int64{16386, 0, 16387, 0}, []int64{16386, 16388, 16387, 16389}},
		{2, []int64{0, 16390}, []int64{16391, 16390}},
		{MaxSubmissionID, []int64{last - 1, 0}, []int64{last - 1, last}},
	} {
		var had []Entry
		for _, id := range tt.had {
			had = append(had, Entry{ID: id, FieldID: "f", Value: "x"})
		}
		before := slices.Clone(had)
		got, err := NumberEntries(tt.submission, had)
		testkit.Must(t, err)
		var ids []int64
		for _, e := range got {
			ids = append(ids, e.ID)
		}
		if !slices.Equal(ids, tt.want) {
			t.Errorf("submission %d, entries %v: %v, want %v", tt.submission, tt.had, ids, tt.want)
		}
		if !slices.Equal(before, had) {
			t.Error("the argument was changed")
		}
		if err := EncodeEntries(nil, got).CheckIDs(tt.submission); err != nil {
			t.Error(err)
		}
	}
	if _, err := NumberEntries(1, make([]Entry, MaxEntries)); err != nil {
		t.Error(err)
	}
	if _, err := NumberEntries(1, make([]Entry, MaxEntries+1)); err == nil {
		t.Error("too many entries were numbered")
	}
}

func TestCheckIDs(t *testing.T) {
	for _, id := range []int64{0, 1, 2*8192 - 1, 2 * 8192, 3*8192 + 1, -1} {
		if err := EncodeEntries(nil, []Entry{{ID: id, FieldID: "a"}}).CheckIDs(2); err == nil {
			t.Errorf("%d counts as an id of submission 2", id)
		}
	}
	for _, bad := range []string{"", "{", `{"a":{"id":9223372036854775808,"fieldId":"a","value":""}}`} {
		if err := Entries(bad).CheckIDs(2); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
}

func TestCorruptEntriesAreAnError(t *testing.T) {
	const good = `{"a":{"id":1,"fieldId":"a","value":"x"},"b":{"id":2,"fieldId":"b","value":"\u0001"}}`
	if _, err := Entries(good).Decode(); err != nil {
		t.Fatalf("the text that is broken below is not good itself: %v", err)
	}
	for n := range len(good) {
		if entries, err := Entries(good[:n]).Decode(); err == nil {
			t.Errorf("cut after %d bytes: got %v, want an error", n, entries)
		}
	}
	for _, bad := range []string{
		"null", "[]", "{}}", "{} ", " {}", "{,}", `{"a":1}`,
		good + good,
		strings.Replace(good, `},`, `} ,`, 1),
		strings.Replace(good, `},`, `}`, 1),
		strings.Replace(good, `"x"},`, `"x"},,`, 1),
		strings.Replace(good, `"x"`, `null`, 1),
		strings.Replace(good, `"x"`, `"x`, 1),
		strings.Replace(good, `"x"`, `"\"`, 1),
		strings.Replace(good, `"fieldId":"a"`, `"fieldId":"c"`, 1),
		strings.Replace(good, `"id":1`, `"id":`, 1),
		strings.Replace(good, `"id":1`, `"id":-1`, 1),
		strings.Replace(good, `"id":1`, `"id":"1"`, 1),
		strings.Replace(good, `"value":"x"`, `"value":"x","more":1`, 1),
		strings.Replace(good, `"id":1,`, ``, 1),
	} {
		s := Entries(bad).Scan()
		for s.Next() {
		}
		if s.Err() == nil {
			t.Errorf("%s: was scanned without an error", bad)
		}
		if entries, err := Entries(bad).Decode(); err == nil {
			t.Errorf("%s: got %v, want an error", bad, entries)
		}
	}
	for _, bad := range []string{ // right in shape, but the tokens mean nothing
		strings.Replace(good, `"x"`, `"\q"`, 1),
		strings.ReplaceAll(good, `"a"`, `"\q"`),
		strings.Replace(good, `"id":1`, `"id":9223372036854775808`, 1),
	} {
		if entries, err := Entries(bad).Decode(); err == nil {
			t.Errorf("%s: got %v, want an error", bad, entries)
		}
	}
}

// FuzzEntries holds the scanner to three things: it ends, it never panics, and
// what it takes without complaint encodes to the same entries again.
func FuzzEntries(f *testing.F) {
	f.Add([]byte("{}"))
	f.Add([]byte(`{"a":{"id":1,"fieldId":"a","value":"x"}}`))
	f.Add([]byte(`{"a\"":{"id":1,"fieldId":"a\"","value":"\\"},"":{"id":20,"fieldId":"","value":"\u0001"}}`))
	f.Add([]byte(`{"a":{"id":1,"fieldId":"a","value":"\"}}`))
	f.Add([]byte(`{"":{"id":,"fieldId":"","value":""}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := Entries(text).Decode()
		if err != nil {
			return
		}
		for _, e := range entries {
			if !utf8.ValidString(e.FieldID) || !utf8.ValidString(e.Value) {
				return // the database holds valid text only
			}
		}
		again, err := EncodeEntries(nil, entries).Decode()
		if err != nil {
			t.Fatalf("%q decodes to %v, which does not survive encoding: %v", text, entries, err)
		}
		if diff := cmp.Diff(entries, again); diff != "" {
			t.Fatalf("(-first +again):\n%s", diff)
		}
	})
}

func TestAppendJSONStringOfEveryCharacter(t *testing.T) {
	const block = 0x100 // one at a time takes seconds under the race detector
	for first := rune(0); first <= utf8.MaxRune; first += block {
		var want []rune
		for r := first; r < first+block; r++ {
			if utf8.ValidRune(r) {
				want = append(want, r)
			}
		}
		encoded := AppendJSONString(nil, string(want))
		var got string
		if err := json.Unmarshal(encoded, &got); err != nil || got != string(want) {
			t.Fatalf("the characters from %U: %q reads as %q, %v", first, encoded, got, err)
		}
	}
}
