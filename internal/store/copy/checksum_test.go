package copystore

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

func sum(t *testing.T, r store.Record) string {
	t.Helper()
	c := newChecksum()
	if err := c.add(r); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(c.hash.Sum(nil))
}

// TestChecksumCoversAll: every change shows, but for the ids of files.
func TestChecksumCoversAll(t *testing.T) {
	full := func() store.Record {
		return store.Record{
			Submission: forms.Submission{
				ID: 12, PageID: 7, FormID: "form", Username: "amy", Created: time.UnixMilli(1700000000123),
				Entries: []byte(`{"f":{"id":9,"fieldId":"f","value":"x"}}`),
				Files:   []forms.StoredFile{{ID: 1, FieldID: "f", Name: "a", Size: 3, SHA256: "aa", Type: "text/plain"}, {ID: 2, FieldID: "f", Name: "b"}},
			},
			SubmitterKey: "user:amy", Key: "key", Body: "body",
		}
	}
	seen := map[string]string{sum(t, full()): "no change"}
	for what, change := range map[string]func(*store.Record){
		"id":        func(r *store.Record) { r.ID++ },
		"page":      func(r *store.Record) { r.PageID++ },
		"form":      func(r *store.Record) { r.FormID = "norm" },
		"name":      func(r *store.Record) { r.Username = "" },
		"time":      func(r *store.Record) { r.Created = r.Created.Add(time.Millisecond) },
		"limit":     func(r *store.Record) { r.SubmitterKey = "" },
		"answers":   func(r *store.Record) { r.Entries[0]++ },
		"key":       func(r *store.Record) { r.Key = "yek" },
		"body":      func(r *store.Record) { r.Body = "" },
		"shifted":   func(r *store.Record) { r.Key, r.Body = "keyb", "ody" },
		"no files":  func(r *store.Record) { r.Files = nil },
		"one file":  func(r *store.Record) { r.Files = r.Files[:1] },
		"order":     func(r *store.Record) { r.Files[0], r.Files[1] = r.Files[1], r.Files[0] },
		"field":     func(r *store.Record) { r.Files[0].FieldID = "g" },
		"file name": func(r *store.Record) { r.Files[0].Name = "A" },
		"size":      func(r *store.Record) { r.Files[0].Size = 4 },
		"sha256":    func(r *store.Record) { r.Files[0].SHA256 = "ab" },
		"change":    func(r *store.Record) { r.Changed = r.Created },
		"changer":   func(r *store.Record) { r.Changer = "bob" },
		"type":      func(r *store.Record) { r.Files[0].Type = "image/png" },
	} {
		r := full()
		change(&r)
		if before, ok := seen[sum(t, r)]; ok {
			t.Errorf("%s: the same checksum as %s", what, before)
		}
		seen[sum(t, r)] = what
	}
	copied := full()
	copied.Files[0].ID, copied.Files[1].ID = 3, 4
	if sum(t, copied) != sum(t, full()) {
		t.Error("the ids of files change the checksum")
	}
}

// TestChecksumCoversEvents: every change of an event shows, but for its id.
func TestChecksumCoversEvents(t *testing.T) {
	sumOf := func(change func(*store.Event)) string {
		e := store.Event{
			Queue: store.Queue{Hook: "crm", Recipient: "a", PageID: 1, FormID: "form"}, ID: 1, Submission: 2, Type: "type",
			Created: time.UnixMilli(3).UTC(), Message: "m", Title: "title", Failed: time.UnixMilli(4).UTC(), Error: "error",
		}
		change(&e)
		c := newChecksum()
		c.addEvent(e)
		return hex.EncodeToString(c.hash.Sum(nil))
	}
	first := sumOf(func(*store.Event) {})
	if sumOf(func(e *store.Event) { e.ID++ }) != first {
		t.Error("the id shows")
	}
	seen := map[string]string{first: "no change"}
	for what, change := range map[string]func(*store.Event){
		"hook": func(e *store.Event) { e.Hook = "c" }, "recipient": func(e *store.Event) { e.Recipient = "" },
		"page": func(e *store.Event) { e.PageID++ }, "form": func(e *store.Event) { e.FormID = "norm" },
		"submission": func(e *store.Event) { e.Submission++ }, "type": func(e *store.Event) { e.Type = "" },
		"created": func(e *store.Event) { e.Created = e.Failed }, "message": func(e *store.Event) { e.Message = "" },
		"title": func(e *store.Event) { e.Title = "" }, "anonymous": func(e *store.Event) { e.Anonymous = true },
		"failed": func(e *store.Event) { e.Failed = time.Time{} }, "error": func(e *store.Event) { e.Error = "" },
		"shifted": func(e *store.Event) { e.Message, e.Title = "mtitle", "" },
	} {
		sum := sumOf(change)
		if before, ok := seen[sum]; ok {
			t.Errorf("%s: the same checksum as %s", what, before)
		}
		seen[sum] = what
	}
}
