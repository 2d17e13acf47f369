package encode

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/forms"
)

var textWithoutNUL = rapid.Map(rapid.String(), func(s string) string { return strings.ReplaceAll(s, "\x00", "\x01") })

// flatReference writes the flat model in the plainest way there is.
func flatReference(form *forms.Form, s forms.Submission, entries []forms.Entry) string {
	quoted := func(text string) string { return string(forms.AppendJSONString(nil, text)) }
	members := []string{
		`"_id":"` + strconv.FormatInt(s.ID, 10) + `"`,
		`"_timestamp":"` + strconv.FormatInt(s.Created.UnixMilli(), 10) + `"`,
		`"_username":` + quoted(s.Username),
	}
	for _, field := range form.Fields {
		value := ""
		if i := slices.IndexFunc(entries, func(e forms.Entry) bool { return e.FieldID == field.ID }); i >= 0 {
			value = entries[i].Value
		}
		members = append(members, quoted(field.ID)+":"+quoted(value))
	}
	for _, e := range entries {
		if !slices.ContainsFunc(form.Fields, func(f *forms.Field) bool { return f.ID == e.FieldID }) {
			members = append(members, quoted(e.FieldID)+":"+quoted(e.Value))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func TestFlatModelIsWrittenToTheByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(textWithoutNUL, 1, 40, rapid.ID).Draw(t, "ids")
		form := &forms.Form{}
		for _, id := range ids[:rapid.IntRange(0, len(ids)).Draw(t, "on the page")] {
			form.Fields = append(form.Fields, &forms.Field{ID: id})
		}
		appendFlat := Flat(form)
		for range rapid.IntRange(1, 3).Draw(t, "rows") {
			var entries []forms.Entry
			for _, id := range rapid.Permutation(ids).Draw(t, "stored")[:rapid.IntRange(0, len(ids)).Draw(t, "count")] {
				entries = append(entries, forms.Entry{ID: 1, FieldID: id, Value: textWithoutNUL.Draw(t, "value")})
			}
			s := forms.Submission{
				ID: rapid.Int64Min(1).Draw(t, "id"), Username: textWithoutNUL.Draw(t, "username"),
				Created: time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "created")),
				Entries: forms.EncodeEntries(nil, entries),
			}
			got, err := appendFlat([]byte("before"), s)
			if want := "before" + flatReference(form, s, entries); err != nil || string(got) != want {
				t.Fatalf("%v, got\n%s\nwant\n%s", err, got, want)
			}
		}
	})
}

func TestBrokenEntriesAreNotWritten(t *testing.T) {
	for name, model := range map[string]Model{"flat": Flat, "nested": Nested} {
		got, err := model(&forms.Form{})([]byte("before"), forms.Submission{ID: 7, Entries: []byte(`{"a"`)})
		if err == nil || !strings.Contains(err.Error(), "read submission 7: ") || !bytes.Equal(got, []byte("before")) {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
}
