package postgres

import (
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
)

// TestLongDumpIsOneSnapshot: all parts of a dump are of one snapshot.
func TestLongDumpIsOneSnapshot(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	const count = 2*fetchRows + fetchRows/2
	insertRows(t, url, 1, count, `{}`)
	next := int64(0)
	err := storetest.EachDumped(s.Dump(ctx), func(r store.Record) error {
		if next == 0 {
			exec(t, url, `DELETE FROM submissions WHERE id > 10`)
		}
		if next++; r.ID != next {
			t.Fatalf("submission %d, where %d is next", r.ID, next)
		}
		return nil
	}, nil)
	if err != nil || next != count {
		t.Errorf("%d rows, want %d: %v", next, count, err)
	}
}

// TestLoadErrorHidesTheKey: the submitter's key must not appear in an error.
func TestLoadErrorHidesTheKey(t *testing.T) {
	s := openStore(t, newDatabase(t))
	mustCreate(t, s, withSubmitterKey(sample("x"), "secret key"))
	err := s.Load(ctx, []store.Record{{
		Submission: forms.Submission{ID: 9, PageID: 1, FormID: "form", Entries: forms.EncodeEntries(nil, nil)}, SubmitterKey: "secret key",
	}})
	if err == nil {
		t.Fatal("load: no error")
	}
	storetest.Same(t, "error", err.Error(), "load submissions: "+store.ErrAlreadySubmitted.Error())
}
