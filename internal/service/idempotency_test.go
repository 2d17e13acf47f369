package service

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// TestKeysTellNothing: neither who sent a submission, nor the key, nor the
// answers can be read off what is stored, nor guessed without the secret.
func TestKeysTellNothing(t *testing.T) {
	w := newWorld(t)
	testkit.Must(t, w.creates(w.as(owner, "anonymous"), answer("words"), "the-key"))
	rows := 0
	err := storetest.EachDumped(w.store.(store.Archive).Dump(t.Context()), func(r store.Record) error {
		rows++
		for _, stored := range []string{r.Key, r.Body} {
			if len(stored) < 22 || strings.Contains(stored, "owner") || strings.Contains(stored, "the-key") || strings.Contains(stored, "words") {
				t.Errorf("stored is %q", stored)
			}
		}
		return nil
	}, nil)
	if err != nil || rows != 1 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// TestRepeatableIsStable: the hashes are stored, so those of another version of
// the program must be the same.
func TestRepeatableIsStable(t *testing.T) {
	a := &Access{Form: &forms.Form{PageID: 1, ID: "f"}, service: New(Options{AnonymousKey: []byte("secret")}), user: owner.Name}
	got := a.repeatable("key", []forms.Answer{
		{FieldID: "note", Value: strings.Repeat("0123456789", 100)}, // longer than the buffer
		{FieldID: "name", Value: "Ann"},
		{FieldID: "extras", IsList: true, List: []string{"a", "b"}},
		{FieldID: "doc", Value: "x.pdf", Files: []forms.StoredFile{{Name: "x.pdf", SHA256: "00ff"}}},
	})
	want := repeatable{key: "xggta8QXIIw1+6UYR55ihNBpsgqcGRpkY7bQ3Ff3280", body: "qpjXqTk3tQBQQrvaBpa+11mblQ/BGQZ93KdFAIO9nLk"}
	testkit.Same(t, "hashes", got, want)
}

// TestRepeatablesDiffer: whatever of caller, form, key and answers differs, so
// do the hashes.
func TestRepeatablesDiffer(t *testing.T) {
	base := func() (*Access, string, []forms.Answer) {
		return &Access{Form: &forms.Form{PageID: 1, ID: "f"}, service: New(Options{AnonymousKey: []byte("secret")}), user: owner.Name},
			"key", []forms.Answer{{FieldID: "a", Value: "1"}, {FieldID: "b", Value: "2"}}
	}
	a, key, answers := base()
	want := a.repeatable(key, answers)
	testkit.Same(t, "the order of the answers counts", a.repeatable(key, []forms.Answer{answers[1], answers[0]}), want)
	for name, change := range map[string]func(a *Access, key *string){
		"caller": func(a *Access, _ *string) { a.user = viewer.Name },
		"page":   func(a *Access, _ *string) { a.Form.PageID = 2 },
		"form":   func(a *Access, _ *string) { a.Form.ID = "g" },
		"key":    func(_ *Access, key *string) { *key = "Key" },
		"secret": func(a *Access, _ *string) { a.service = New(Options{AnonymousKey: []byte("another")}) },
	} {
		a, key, answers := base()
		change(a, &key)
		if got := a.repeatable(key, answers); got.key == want.key || got.body == want.body {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, other := range map[string][]forms.Answer{
		"none":         nil,
		"one less":     answers[:1],
		"a value":      {{FieldID: "a", Value: "1"}, {FieldID: "b", Value: "3"}},
		"a field":      {{FieldID: "a", Value: "1"}, {FieldID: "c", Value: "2"}},
		"where it is":  {{FieldID: "a", Value: "1b"}, {FieldID: "", Value: "2"}},
		"a list":       {{FieldID: "a", IsList: true, List: []string{"1"}}, {FieldID: "b", Value: "2"}},
		"a problem":    {{FieldID: "a", Value: "1", Malformed: forms.English("must be a text")}, {FieldID: "b", Value: "2"}},
		"another list": {{FieldID: "a", IsList: true, List: []string{"1", ""}}, {FieldID: "b", Value: "2"}},
	} {
		if got := a.repeatable(key, other); got.key != want.key || got.body == want.body {
			t.Errorf("%s: %+v, want another body than %+v", name, got, want)
		}
	}
}
