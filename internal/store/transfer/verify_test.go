package transfer_test

import (
	"context"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/transfer"
)

// behind is a store whose last id is lower than the ids in use.
type behind struct{ whole }

func (b behind) LastID(ctx context.Context) (int64, error) {
	last, err := b.whole.LastID(ctx)
	return last / 2, err
}

// TestVerify: the result equals that of a copy, and the error lists all faults.
func TestVerify(t *testing.T) {
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			s, copied := open(t), engines["sqlite"](t)
			fill(t, s)
			want, err := transfer.Copy(t.Context(), s, copied, noProgress)
			if err != nil {
				t.Fatal(err)
			}
			var last [2]int64
			got, err := transfer.Verify(t.Context(), s, func(_ string, done, total int64) { last = [2]int64{done, total} })
			if err != nil || got != want || last != [2]int64{want.Submissions, want.Submissions} {
				t.Errorf("verified %+v, %v, want %+v; the last progress was %v", got, err, want, last)
			}
			_, err = transfer.Verify(t.Context(), behind{s}, noProgress)
			wantInError(t, err, "submission 7496 has an id that was not given yet")

			record := store.Record{Submission: forms.Submission{
				ID: 100_000, PageID: 1, FormID: "Z", Entries: forms.Entries(`{"f":{"id":819200001,"fieldId":"f","value":"\q"}}`),
			}}
			if err := s.Load(t.Context(), []store.Record{record}); err != nil {
				t.Fatal(err)
			}
			_, err = transfer.Verify(t.Context(), s, noProgress)
			wantInError(t, err, "submission 100000: ")
		})
	}
}

func wantInError(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
}
