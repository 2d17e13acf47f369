package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/store/postgres"
	"github.com/formulary/formulary/internal/store/sqlite"
	"github.com/formulary/formulary/internal/store/transfer"
)

// whole is a store with all that an engine can do.
type whole interface {
	store.Store
	transfer.Store
}

var engines = map[string]func(t *testing.T) whole{
	"sqlite": func(t *testing.T) whole {
		t.Helper()
		s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
		return closing(t, s, err)
	},
	"postgres": func(t *testing.T) whole {
		t.Helper()
		s, err := postgres.Open(t.Context(), postgres.Options{URL: pgtest.Shared(t).Database(t)})
		return closing(t, s, err)
	},
}

func closing(t *testing.T, s whole, err error) whole {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// pairs runs a test from each engine to each, with a source that is filled.
func pairs(t *testing.T, test func(t *testing.T, from, to whole)) {
	t.Helper()
	for _, names := range [][2]string{{"sqlite", "sqlite"}, {"sqlite", "postgres"}, {"postgres", "sqlite"}, {"postgres", "postgres"}} {
		t.Run(names[0]+" to "+names[1], func(t *testing.T) {
			from := engines[names[0]](t)
			fill(t, from)
			test(t, from, engines[names[1]](t))
		})
	}
}

// stored is how many submissions a filled store holds: a few batches.
const stored = 2500

// fill stores what a copy could get wrong: forms that a collation sorts
// differently, ids with gaps, texts of all kinds, and last ids that are deleted.
func fill(t *testing.T, s whole) {
	t.Helper()
	names := []string{"Z", "a", "ä", "b-c", "b_c", "Ω", "z"}
	var records []store.Record
	for i := range stored - 1 {
		r := store.Record{Submission: forms.Submission{
			ID: int64(3*i + 1), PageID: int64(1 + i%3), FormID: names[i%len(names)], Created: time.UnixMilli(int64(i) * 1_000_003).UTC(),
			Entries: forms.EncodeEntries(nil, []forms.Entry{{ID: int64(3*i+1)*8192 + 1, FieldID: "text", Value: fmt.Sprintf("%d \" \\ \n 😀 </x>", i)}}),
		}}
		if i%4 == 0 {
			r.SubmitterKey = fmt.Sprint("hash:", i)
		} else {
			r.Username = fmt.Sprint("user", i%10)
		}
		records = append(records, r)
	}
	if err := s.Load(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		create(t, s)
	}
	last := create(t, s)
	for _, back := range []int64{0, 1} {
		if err := s.Delete(t.Context(), store.Key{PageID: 9, FormID: "form", ID: last.ID - back}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Claim(t.Context(), store.SettingOnceKey, "fingerprint"); err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, s whole) forms.Submission {
	t.Helper()
	sub, err := s.Create(t.Context(), store.New{
		PageID: 9, FormID: "form", Username: "amy", Created: time.UnixMilli(0), Entries: []forms.Entry{{FieldID: "text", Value: "x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func dump(t *testing.T, s whole) []store.Record {
	t.Helper()
	var all []store.Record
	err := s.Dump(t.Context(), func(r store.Record) error {
		r.Entries = append(forms.Entries(nil), r.Entries...)
		all = append(all, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func setting(t *testing.T, s whole, name string) string {
	t.Helper()
	value, err := s.Setting(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func noProgress(string, int64, int64) {}

// checkCopy compares the copy with its source.
func checkCopy(t *testing.T, from, to whole) {
	t.Helper()
	if source, copied := dump(t, from), dump(t, to); !reflect.DeepEqual(source, copied) { // much faster than cmp
		t.Errorf("the copy is different (-source +copy):\n%.2000s", cmp.Diff(source, copied))
	}
	if copyOf, key := setting(t, to, store.SettingCopyOf), setting(t, to, store.SettingOnceKey); copyOf != "" || key != "fingerprint" {
		t.Errorf("copy of %q, key of anonymous submissions %q", copyOf, key)
	}
	if setting(t, from, store.SettingStoreID) == setting(t, to, store.SettingStoreID) {
		t.Error("source and copy have one id")
	}
	given, err := from.LastID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if next := create(t, to); next.ID <= given {
		t.Errorf("ids are given again: %d, after %d", next.ID, given)
	}
}

func TestCopy(t *testing.T) {
	pairs(t, func(t *testing.T, from, to whole) {
		last := map[string][2]int64{}
		result, err := transfer.Copy(t.Context(), from, to, func(stage string, done, total int64) {
			if done < last[stage][0] || done > total {
				t.Errorf("%s: %d of %d after %d", stage, done, total, last[stage][0])
			}
			last[stage] = [2]int64{done, total}
		})
		if err != nil {
			t.Fatal(err)
		}
		if result.Submissions != stored || result.Resumed != 0 || len(result.Checksum) != 64 {
			t.Errorf("result %+v", result)
		}
		want := map[string][2]int64{transfer.Copying: {stored, stored}, transfer.Verifying: {stored, stored}}
		if diff := cmp.Diff(want, last); diff != "" {
			t.Errorf("progress (-want +got):\n%s", diff)
		}
		checkCopy(t, from, to)
	})
}

func TestCopyOfNothing(t *testing.T) {
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			to := open(t)
			result, err := transfer.Copy(t.Context(), engines["sqlite"](t), to, noProgress)
			if err != nil || result.Submissions != 0 {
				t.Errorf("%+v, %v", result, err)
			}
			if copyOf := setting(t, to, store.SettingCopyOf); copyOf != "" {
				t.Errorf("it is still a copy of %q", copyOf)
			}
		})
	}
}

// A copy through both engines and back is the same.
func TestCopyAndBack(t *testing.T) {
	first, second, third := engines["sqlite"](t), engines["postgres"](t), engines["sqlite"](t)
	fill(t, first)
	there, err := transfer.Copy(t.Context(), first, second, noProgress)
	if err != nil {
		t.Fatal(err)
	}
	back, err := transfer.Copy(t.Context(), second, third, noProgress)
	if err != nil || there.Checksum != back.Checksum {
		t.Fatalf("%+v, then %+v, %v", there, back, err)
	}
	checkCopy(t, first, third)
}

// spoilt is a store whose Load does something else.
type spoilt struct {
	whole
	load func(records []store.Record) ([]store.Record, error)
}

func (s spoilt) Load(ctx context.Context, records []store.Record) error {
	records, err := s.load(records)
	if err != nil {
		return err
	}
	return s.whole.Load(ctx, records)
}

// failing returns a store whose Load fails after so many batches.
func failing(s whole, batches int) (spoilt, error) {
	errFailed := errors.New("no more")
	return spoilt{s, func(records []store.Record) ([]store.Record, error) {
		if batches--; batches < 0 {
			return nil, errFailed
		}
		return records, nil
	}}, errFailed
}

func TestInterruptedAndResumed(t *testing.T) {
	pairs(t, func(t *testing.T, from, to whole) {
		for batches := range 2 { // the first run stores none, the second one
			failing, errFailed := failing(to, batches)
			if _, err := transfer.Copy(t.Context(), from, failing, noProgress); !errors.Is(err, errFailed) {
				t.Fatalf("got %v", err)
			}
			if copyOf := setting(t, to, store.SettingCopyOf); copyOf != setting(t, from, store.SettingStoreID) {
				t.Fatalf("an unfinished copy of %q", copyOf)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if _, err := transfer.Copy(ctx, from, to, func(string, int64, int64) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		result, err := transfer.Copy(t.Context(), from, to, noProgress)
		if err != nil {
			t.Fatal(err)
		}
		if result.Submissions != stored || result.Resumed != 2000 {
			t.Errorf("result %+v, want 2000 of %d from before", result, stored)
		}
		checkCopy(t, from, to)
	})
}

func TestRefused(t *testing.T) {
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			from, to := engines["sqlite"](t), open(t)
			fill(t, from)
			create(t, to)
			refuse(t, from, to, transfer.ErrNotEmpty, "has submissions")
			if copyOf := setting(t, to, store.SettingCopyOf); copyOf != "" {
				t.Errorf("what was refused is marked as a copy of %q", copyOf)
			}
			refuse(t, to, to, nil, "the same store")

			other, half := engines["sqlite"](t), open(t)
			create(t, other)
			failing, errFailed := failing(half, 1)
			refuse(t, from, failing, errFailed, "")
			refuse(t, other, half, transfer.ErrNotEmpty, "unfinished copy of another store")
		})
	}
}

// TestKeyOfTheSource: a server that ran on the empty target may have claimed a key.
// The copy replaces it with the key of the source, which the submissions use.
func TestKeyOfTheSource(t *testing.T) {
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			from, to := engines["sqlite"](t), open(t)
			fill(t, from)
			want := setting(t, from, store.SettingOnceKey)
			if _, err := to.Claim(t.Context(), store.SettingOnceKey, "another"); err != nil || want == "" {
				t.Fatalf("key %q: %v", want, err)
			}
			if _, err := transfer.Copy(t.Context(), from, to, noProgress); err != nil {
				t.Fatal(err)
			}
			if got := setting(t, to, store.SettingOnceKey); got != want {
				t.Errorf("key %q, want %q", got, want)
			}
		})
	}
}

func refuse(t *testing.T, from, to transfer.Store, want error, because string) {
	t.Helper()
	_, err := transfer.Copy(t.Context(), from, to, noProgress)
	if err == nil || (want != nil && !errors.Is(err, want)) || !strings.Contains(err.Error(), because) {
		t.Errorf("got %v, want %v and %q", err, want, because)
	}
}

// Every difference between copy and source is an error, and the copy stays marked
// as unfinished.
func TestDifferentCopyIsNoticed(t *testing.T) {
	from := engines["sqlite"](t)
	fill(t, from)
	for name, spoil := range map[string]func(r *store.Record){
		"text": func(r *store.Record) {
			r.Entries = forms.Entries(strings.Replace(string(r.Entries), "😀", "?", 1))
		},
		"name":  func(r *store.Record) { r.Username += "x" },
		"time":  func(r *store.Record) { r.Created = r.Created.Add(time.Millisecond) },
		"id":    func(r *store.Record) { r.ID, r.Entries = r.ID+1, forms.EncodeEntries(nil, nil) },
		"limit": func(r *store.Record) { r.SubmitterKey = "" },
		"form":  func(r *store.Record) { r.FormID += "x" },
	} {
		t.Run(name, func(t *testing.T) {
			to := engines["sqlite"](t)
			spoilt := spoilt{to, func(records []store.Record) ([]store.Record, error) {
				spoil(&records[0])
				return records, nil
			}}
			refuse(t, from, spoilt, transfer.ErrDifferent, "empty the target")
			if copyOf := setting(t, to, store.SettingCopyOf); copyOf == "" {
				t.Error("it counts as complete")
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		to := engines["postgres"](t)
		refuse(t, from, spoilt{to, func(records []store.Record) ([]store.Record, error) { return records[1:], nil }}, transfer.ErrDifferent, "")
	})
}

// Submissions that an interrupted run has copied may change in the source before
// the next run.
func TestSourceChangedBetweenRuns(t *testing.T) {
	from, to := engines["sqlite"](t), engines["postgres"](t)
	fill(t, from)
	failing, errFailed := failing(to, 1)
	refuse(t, from, failing, errFailed, "")
	first := dump(t, from)[0]
	if err := from.Delete(t.Context(), store.Key{PageID: first.PageID, FormID: first.FormID, ID: first.ID}, nil); err != nil {
		t.Fatal(err)
	}
	refuse(t, from, to, transfer.ErrDifferent, "changed in the source since")
}
