package store_test

import (
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

func digestOf(records ...store.Record) string {
	d := store.NewDigest()
	for _, r := range records {
		d.Add(r)
	}
	return d.Sum()
}

func plain() store.Record {
	return store.Record{
		Submission: forms.Submission{
			ID: 12, PageID: 7, FormID: "form", Username: "amy", Created: time.UnixMilli(1700000000123),
			Entries: []byte(`{"f":{"id":9,"fieldId":"f","value":"x"}}`),
		},
		SubmitterKey: "user:amy",
	}
}

// TestDigestCoversAll: every change shows, but for the ids of files.
func TestDigestCoversAll(t *testing.T) {
	full := func() store.Record {
		r := plain()
		r.Key, r.Body = "key", "body"
		r.Files = []forms.StoredFile{{ID: 1, FieldID: "f", Name: "a", Size: 3, SHA256: "aa", Type: "text/plain"}, {ID: 2, FieldID: "f", Name: "b"}}
		return r
	}
	seen := map[string]string{digestOf(plain()): "plain", digestOf(full()): "full"}
	for what, change := range map[string]func(*store.Record){
		"key":        func(r *store.Record) { r.Key = "yek" },
		"body":       func(r *store.Record) { r.Body = "" },
		"no key":     func(r *store.Record) { r.Key, r.Body = "", "" },
		"no files":   func(r *store.Record) { r.Files = nil },
		"one file":   func(r *store.Record) { r.Files = r.Files[:1] },
		"order":      func(r *store.Record) { r.Files[0], r.Files[1] = r.Files[1], r.Files[0] },
		"field":      func(r *store.Record) { r.Files[0].FieldID = "g" },
		"name":       func(r *store.Record) { r.Files[0].Name = "A" },
		"size":       func(r *store.Record) { r.Files[0].Size = 4 },
		"sha256":     func(r *store.Record) { r.Files[0].SHA256 = "ab" },
		"type":       func(r *store.Record) { r.Files[0].Type = "image/png" },
		"submission": func(r *store.Record) { r.Username = "" },
	} {
		r := full()
		change(&r)
		sum := digestOf(r)
		if before, ok := seen[sum]; ok {
			t.Errorf("%s: the same digest as %s", what, before)
		}
		seen[sum] = what
	}
	copied := full()
	copied.Files[0].ID, copied.Files[1].ID = 3, 4
	if digestOf(copied) != digestOf(full()) {
		t.Error("the ids of files change the digest")
	}
}
