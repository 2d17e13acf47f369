package copystore

import (
	"encoding/hex"
	"reflect"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// changeEach changes one value after the other below v, calls changed with the path of each, and changes it back.
func changeEach(v reflect.Value, path string, changed func(path string)) {
	before := reflect.New(v.Type()).Elem()
	before.Set(v)
	switch at, isTime := v.Interface().(time.Time); {
	case isTime:
		v.Set(reflect.ValueOf(at.Add(time.Millisecond)))
	case v.Kind() == reflect.String:
		v.SetString(v.String() + "x")
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			changeEach(v.Field(i), path+"."+v.Type().Field(i).Name, changed)
		}
		return
	case v.Kind() == reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			changeEach(v.Index(0), path+"[0]", changed)
		}
		v.Set(v.Slice(0, v.Len()-1))
	case v.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	default: // a function
		return
	}
	changed(path)
	v.Set(before)
}

// TestChecksumCoversAll: every change of a submission or an event shows, but for the ids of files and events, which
// a copy has anew, and the text of a definition, which its hash is made of.
func TestChecksumCoversAll(t *testing.T) {
	at := time.UnixMilli(1700000000123).UTC()
	r := store.Record{
		Submission: forms.Submission{
			ID: 12, PageID: 7, FormID: "form", Username: "amy", Created: at, Changed: at, Changer: "bob", Entries: []byte(`{"f":{}}`),
			Files: []forms.StoredFile{{ID: 1, FieldID: "f", Name: "a", Size: 3, SHA256: "aa", Type: "text/plain"}, {ID: 2, FieldID: "f", Name: "b"}},
		},
		SubmitterKey: "user:amy", Key: "key", Body: "body", Definition: forms.Definition{Text: "{}", Hash: [16]byte{1}},
		History: []store.Step{{At: at, Username: "bob", Before: map[string]string{"f": "x"}}, {At: at}},
	}
	e := store.Event{
		Queue: store.Queue{Hook: "crm", Recipient: "a", PageID: 1, FormID: "form"}, ID: 1, Submission: 2, Type: "type",
		Created: at, Message: "m", Title: "title", Failed: at, Error: "error",
	}
	sum := func() string {
		c := newChecksum()
		c.add(r)
		c.addEvent(e)
		return hex.EncodeToString(c.hash.Sum(nil))
	}
	seen := map[string]string{sum(): "no change"}
	check := func(path string) {
		isNew := path == ".Submission.Files[0].ID" || path == ".Definition.Text" || path == ".ID"
		if before, ok := seen[sum()]; ok != isNew {
			t.Errorf("%s: the same checksum as %q", path, before)
		}
		seen[sum()] = path
	}
	first := sum()
	changeEach(reflect.ValueOf(&r).Elem(), "", check)
	changeEach(reflect.ValueOf(&e).Elem(), "", check)
	if sum() != first {
		t.Fatal("a change was not undone: nothing tested")
	}
	r.Files[0], r.Files[1] = r.Files[1], r.Files[0]
	check("the order of files")
	r.Key, r.Body = "keyb", "ody"
	check("text of another field")
	e.Message, e.Title = "mtitle", ""
	check("text of another field of the event")
}
