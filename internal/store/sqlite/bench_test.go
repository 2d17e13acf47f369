package sqlite

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
)

// BenchmarkProtection compares a store whose pages have checksums and whose
// deleted rows are overwritten with one without either. They take turns, and
// "speed" is that of the first as a share of the other's: the median of all turns.
func BenchmarkProtection(b *testing.B) {
	for name, turn := range map[string]func(*Store) error{
		"create": func(s *Store) error {
			return errors.Join(storetest.Parallel(64, func(int) error {
				for range 50 {
					if _, err := s.Create(ctx, sample(strings.Repeat("x", 200))); err != nil {
						return err
					}
				}
				return nil
			})...)
		},
		"get": func(s *Store) error {
			for range 5000 {
				if _, err := s.Get(ctx, store.Key{PageID: 1, FormID: "form", ID: 1 + rand.Int64N(benchRows)}); err != nil {
					return err
				}
			}
			return nil
		},
		"list": func(s *Store) error {
			return s.Scan(ctx, store.Query{PageID: 1, FormID: "form"}, func(forms.Submission) error { return nil })
		},
	} {
		b.Run(name, func(b *testing.B) {
			stores := []*Store{openBench(b, false), openBench(b, true)}
			var speed []float64
			for b.Loop() {
				var took [2]time.Duration
				order := rand.Perm(2)
				for _, i := range order {
					began := time.Now()
					if err := turn(stores[i]); err != nil {
						b.Fatal(err)
					}
					took[i] = time.Since(began)
				}
				speed = append(speed, float64(took[0])/float64(took[1]))
			}
			slices.Sort(speed)
			b.ReportMetric(speed[len(speed)/2], "speed")
		})
	}
}

const benchRows = 20_000

// openBench opens a store that holds more than the caches of its connections do.
func openBench(b *testing.B, protected bool) *Store {
	b.Helper()
	dir := b.TempDir()
	if !protected {
		plain, err := sqlite3.Open(filepath.Join(dir, FileName))
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(migrate(plain), plain.Close()); err != nil {
			b.Fatal(err)
		}
	}
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	if !protected {
		if err := s.writer.do(ctx, func(tx *tx) error { return tx.stmts.conn.Exec(`PRAGMA secure_delete = FAST`) }); err != nil {
			b.Fatal(err)
		}
	}
	records := make([]store.Record, benchRows)
	for i := range records {
		entries := []forms.Entry{{ID: int64(i + 1), FieldID: "field", Value: strings.Repeat("x", 1000)}}
		records[i].Submission = forms.Submission{
			ID: int64(i + 1), PageID: 1, FormID: "form", Username: "amy", Entries: forms.EncodeEntries(nil, entries),
		}
	}
	if err := s.Load(ctx, records); err != nil {
		b.Fatal(err)
	}
	return s
}
