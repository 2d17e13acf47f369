package copystore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	copystore "github.com/formulary/formulary/internal/store/copy"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

var must = testkit.Must

// pairs runs a test from each engine to the other, with a source that is filled.
func pairs(t *testing.T, test func(t *testing.T, from, to store.Engine)) {
	t.Helper()
	for _, pair := range [][2]enginetest.Engine{{enginetest.SQLite, enginetest.Postgres}, {enginetest.Postgres, enginetest.SQLite}} {
		from, to := pair[0], pair[1]
		t.Run(from.Name+" to "+to.Name, func(t *testing.T) {
			source := from.Open(t)
			fill(t, source)
			test(t, source, to.Open(t))
		})
	}
}

// stored is how many submissions a filled store holds: more than a batch.
const stored = 1200

// fill stores what a copy could get wrong: forms that a collation sorts
// differently, ids with gaps, texts of all kinds, definitions, files, keys, and last ids that
// are deleted.
func fill(t *testing.T, s store.Engine) {
	t.Helper()
	names := []string{"Z", "a", "ä", "b-c", "b_c", "Ω", "z"}
	var records []store.Record
	for i := range stored - 1 {
		r := store.Record{Submission: forms.Submission{
			ID: int64(3*i + 1), PageID: int64(1 + i%3), FormID: names[i%len(names)], Created: time.UnixMilli(int64(i) * 1_000_003).UTC(),
			Entries: forms.EncodeEntries(nil, []forms.Entry{{ID: int64(3*i+1)*8192 + 1, FieldID: "text", Value: fmt.Sprintf("%d \" \\ \n 😀 </x>", i)}}),
		}}
		if i%10 > 0 {
			r.Definition = forms.NewDefinition(fmt.Sprintf(`{"formId":%q,"pageId":%d,"title":"%d é"}`, r.FormID, r.PageID, i%3))
		}
		if i%4 == 0 {
			r.SubmitterKey = fmt.Sprint("hash:", i)
		} else {
			r.Username = fmt.Sprint("user", i%10)
		}
		records = append(records, r)
	}
	must(t, s.Load(t.Context(), records))
	f, err := s.StageFile(t.Context(), strings.NewReader(content))
	must(t, err)
	f.FieldID, f.Name, f.Type = "text", "a.txt", "text/plain"
	told := store.Event{Queue: store.Queue{Hook: "crm"}, Type: store.SubmissionCreated, Created: time.UnixMilli(5).UTC(), Message: "m1"}
	mail := told
	mail.Hook, mail.Recipient, mail.Title, mail.Message = store.MailHook, "hr@example.org", "Title", "m2"
	create(t, s, store.New{Key: "key", Body: "body", Files: []forms.StoredFile{f}, Events: []store.Event{told, mail}})
	giveUp(t, s)
	for range 2 {
		last := create(t, s, store.New{})
		must(t, s.Delete(t.Context(), store.Key{PageID: 9, FormID: "form", ID: last.ID}, nil))
	}
	for formID, keep := range map[string]forms.Period{"form": {N: 90, Unit: "day"}, "gone": {N: 1, Unit: "year"}} {
		must(t, s.SetKeep(t.Context(), 9, formID, keep))
	}
	must(t, testkit.ErrorOf(s.Claim(t.Context(), store.SettingAnonymousKey, "fingerprint")))
}

// content is that of the file in a filled store: several chunks.
var content = strings.Repeat("content of a file, ", 10_000)

func create(t *testing.T, s store.Engine, n store.New) forms.Submission {
	t.Helper()
	n.PageID, n.FormID, n.Created = 9, "form", time.UnixMilli(0)
	sub, err := s.Create(t.Context(), n)
	must(t, err)
	return sub
}

// giveUp makes the event for a webhook a failed one.
func giveUp(t *testing.T, s store.Engine) {
	t.Helper()
	l, err := s.LeaseQueue(t.Context(), store.Queue{Hook: "crm", PageID: 9, FormID: "form"}, time.Minute, 1)
	if err == nil {
		err = s.SettleQueue(t.Context(), l, store.Settlement{Failed: []int64{l.Events[0].ID}, Error: "answered 410"})
	}
	must(t, err)
}

// dump returns all submissions and events, without the ids that a copy has anew.
func dump(t *testing.T, s store.Engine) (all []store.Record, events []store.Event) {
	t.Helper()
	must(t, storetest.EachDumped(s.Dump(t.Context()), func(r store.Record) error {
		r.Entries, r.Open = bytes.Clone(r.Entries), nil
		for i := range r.Files {
			r.Files[i].ID = 0
		}
		all = append(all, r)
		return nil
	}, func(e store.Event) error {
		e.ID = 0
		events = append(events, e)
		return nil
	}))
	return all, events
}

// keeps returns all keeps, without the time at which they are read.
func keeps(t *testing.T, s store.Engine) []store.Keep {
	t.Helper()
	all, err := s.Keeps(t.Context())
	must(t, err)
	for i := range all {
		all[i].Now = time.Time{}
	}
	return all
}

func setting(t *testing.T, s store.Engine, name string) string {
	t.Helper()
	value, err := s.Setting(t.Context(), name)
	must(t, err)
	return value
}

func noProgress(string, string, int64, int64) {}

// checkCopy compares the copy with its source.
func checkCopy(t *testing.T, from, to store.Engine) {
	t.Helper()
	source, sent := dump(t, from)
	copied, told := dump(t, to)
	if !reflect.DeepEqual(source, copied) { // much faster than cmp
		t.Errorf("the copy is different (-source +copy):\n%.2000s", cmp.Diff(source, copied))
	}
	testkit.Diff(t, "the events are different (-source +copy", told, sent)
	testkit.Diff(t, "the keeps are different (-source +copy", keeps(t, to), keeps(t, from))
	if mark, key := setting(t, to, store.SettingUnfinishedCopy), setting(t, to, store.SettingAnonymousKey); mark != "" || key != "fingerprint" {
		t.Errorf("the mark is %q, the fingerprint of the key %q", mark, key)
	}
	sub, body, err := to.ByKey(t.Context(), 9, "form", "key")
	if err != nil || body != "body" {
		t.Fatalf("by key: %q, %v", body, err)
	}
	file, err := to.OpenFile(t.Context(), store.Key{PageID: 9, FormID: "form", ID: sub.ID}, sub.Files[0].ID)
	must(t, err)
	got, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil || string(got) != content {
		t.Errorf("the file has %d bytes, want %d: %v", len(got), len(content), err)
	}
	given, err := from.LastID(t.Context())
	must(t, err)
	if next := create(t, to, store.New{}); next.ID <= given {
		t.Errorf("ids are given again: %d, after %d", next.ID, given)
	}
}

// TestCopy: all is copied but sessions. A server that ran on the empty target may
// have claimed a key, stored a keep and opened a session.
func TestCopy(t *testing.T) {
	pairs(t, func(t *testing.T, from, to store.Engine) {
		theirs := store.Session{Hash: [32]byte{1}, Expires: time.UnixMilli(1).UTC(), Sealed: []byte("x")}
		ours := store.Session{Hash: [32]byte{2}, Expires: time.UnixMilli(1).UTC(), Sealed: []byte("y")}
		_, err := to.Claim(t.Context(), store.SettingAnonymousKey, "another")
		must(t, to.SetKeep(t.Context(), 1, "another", forms.Period{N: 1, Unit: "day"}))
		must(t, errors.Join(err, from.CreateSession(t.Context(), theirs), to.CreateSession(t.Context(), ours)))
		last := map[string][2]int64{}
		count, err := copystore.Copy(t.Context(), from, to, func(stage, _ string, done, total int64) {
			if done < last[stage][0] || done > total {
				t.Errorf("%s: %d of %d after %d", stage, done, total, last[stage][0])
			}
			last[stage] = [2]int64{done, total}
			if setting(t, to, store.SettingUnfinishedCopy) == "" {
				t.Errorf("%s: it is not marked as unfinished", stage)
			}
		})
		if err != nil || count != stored {
			t.Fatalf("%d submissions were copied, want %d: %v", count, stored, err)
		}
		want := map[string][2]int64{"copying": {stored, stored}, "comparing": {stored, stored}}
		testkit.Diff(t, "progress", last, want)
		checkCopy(t, from, to)
		testkit.ErrorIs(t, "the copy has the session of the source", testkit.ErrorOf(to.Session(t.Context(), theirs.Hash)), store.ErrNoSession)
		testkit.ErrorIs(t, "the target has lost its session", testkit.ErrorOf(to.Session(t.Context(), ours.Hash)), nil)
	})
}

// TestCopyOfNothing: there may be nothing to copy, not even a key.
func TestCopyOfNothing(t *testing.T) {
	from, to := enginetest.SQLite.Open(t), enginetest.SQLite.Open(t)
	must(t, testkit.ErrorOf(to.Claim(t.Context(), store.SettingAnonymousKey, "another")))
	count, err := copystore.Copy(t.Context(), from, to, noProgress)
	if err != nil || count != 0 || setting(t, to, store.SettingUnfinishedCopy) != "" || setting(t, to, store.SettingAnonymousKey) != "" {
		t.Errorf("%d submissions, %v", count, err)
	}
}

// spoilt is a store that stores something else.
type spoilt struct {
	store.Engine
	load  func(records []store.Record) ([]store.Record, error)
	stage func(io.Reader) io.Reader
}

func (s spoilt) Load(ctx context.Context, records []store.Record) error {
	if s.load == nil {
		return s.Engine.Load(ctx, records)
	}
	records, err := s.load(records)
	if err != nil {
		return err
	}
	return s.Engine.Load(ctx, records)
}

func (s spoilt) StageFile(ctx context.Context, r io.Reader) (forms.StoredFile, error) {
	if s.stage != nil {
		r = s.stage(r)
	}
	return s.Engine.StageFile(ctx, r)
}

// TestInterrupted: an interrupted copy leaves its mark, and the next one begins
// again, also from another store or a changed one.
func TestInterrupted(t *testing.T) {
	pairs(t, func(t *testing.T, from, to store.Engine) {
		other := enginetest.SQLite.Open(t)
		create(t, other, store.New{Username: "amy", SubmitterKey: "amy"})
		batches, errFailed := 1, errors.New("no more")
		failing := spoilt{Engine: to, load: func(records []store.Record) ([]store.Record, error) {
			if batches--; batches < 0 {
				return nil, errFailed
			}
			return records, nil
		}}
		refuse(t, from, failing, errFailed, "")
		if setting(t, to, store.SettingUnfinishedCopy) == "" {
			t.Fatal("it is not marked as unfinished")
		}
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := copystore.Copy(ctx, other, to, func(string, string, int64, int64) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if all, _ := dump(t, to); len(all) != 1 || setting(t, to, store.SettingUnfinishedCopy) == "" {
			t.Fatalf("%d submissions after an interrupted copy of 1", len(all))
		}
		must(t, testkit.ErrorOf(copystore.Copy(t.Context(), from, to, noProgress)))
		checkCopy(t, from, to)
	})
}

func refuse(t *testing.T, from, to store.Engine, want error, because string) {
	t.Helper()
	_, err := copystore.Copy(t.Context(), from, to, noProgress)
	if err == nil || (want != nil && !errors.Is(err, want)) || !strings.Contains(err.Error(), because) {
		t.Errorf("got %v, want %v and %q", err, want, because)
	}
}

func TestRefused(t *testing.T) {
	from, to := enginetest.SQLite.Open(t), enginetest.SQLite.Open(t)
	create(t, from, store.New{})
	create(t, to, store.New{})
	refuse(t, from, to, copystore.ErrNotEmpty, "has submissions")
	testkit.Same(t, "what was refused is marked with", setting(t, to, store.SettingUnfinishedCopy), "")
	refuse(t, to, to, nil, "the same store")
}

// Every difference between copy and source is an error, and the copy stays marked
// as unfinished.
func TestDifferentCopyIsNoticed(t *testing.T) {
	from := enginetest.SQLite.Open(t)
	fill(t, from)
	for name, c := range map[string]struct {
		spoilt  spoilt
		want    error
		because string
	}{
		"changed": {spoilt{load: func(records []store.Record) ([]store.Record, error) {
			records[0].Username += "x"
			return records, nil
		}}, copystore.ErrDifferent, "copy again"},
		"missing": {spoilt{load: func(records []store.Record) ([]store.Record, error) {
			return records[1:], nil
		}}, copystore.ErrDifferent, "1200 submissions were copied, and 1198 are there"},
		"a file": {spoilt{stage: func(r io.Reader) io.Reader {
			_, _ = r.Read(make([]byte, 1))
			return r
		}}, nil, `copy file "a.txt": its content is not what was stored`},
	} {
		t.Run(name, func(t *testing.T) {
			c.spoilt.Engine = enginetest.SQLite.Open(t)
			refuse(t, from, c.spoilt, c.want, c.because)
			if setting(t, c.spoilt, store.SettingUnfinishedCopy) == "" {
				t.Error("it counts as complete")
			}
		})
	}
}

// A batch has no more definitions than memory has room for, whatever the order in which a form has changed.
func TestDefinitionsInABatch(t *testing.T) {
	from, to := enginetest.SQLite.Open(t), enginetest.SQLite.Open(t)
	for i := range 20 {
		create(t, from, store.New{Definition: forms.NewDefinition(strings.Repeat(fmt.Sprint(i%2), 1<<20))})
	}
	largest := 0
	measured := spoilt{Engine: to, load: func(records []store.Record) ([]store.Record, error) {
		largest = max(largest, len(records))
		return records, nil
	}}
	count, err := copystore.Copy(t.Context(), from, measured, noProgress)
	must(t, err)
	if count != 20 || largest != 4 { // of one MiB each
		t.Errorf("%d submissions, up to %d at once", count, largest)
	}
}
