package service

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages/pagestest"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// BenchmarkCreateBesideSweep: how much longer a create takes while a sweep deletes 100,000 submissions of another form,
// as the ratio of medians.
func BenchmarkCreateBesideSweep(b *testing.B) {
	for _, on := range []enginetest.Engine{enginetest.SQLite, enginetest.Postgres} {
		b.Run(on.Name, func(b *testing.B) {
			engine := on.Open(b)
			for first := int64(1); first < 100_000; first += 1000 {
				records := make([]store.Record, 1000)
				for i := range records {
					records[i].Submission = forms.Submission{
						ID: first + int64(i), PageID: 2, FormID: "gone", Created: time.UnixMilli(1), Entries: forms.EncodeEntries(nil, nil),
					}
				}
				testkit.Must(b, engine.Load(b.Context(), records))
			}
			day := forms.Period{N: 1, Unit: "day"}
			testkit.Must(b, engine.LoadKeeps(b.Context(), []store.Keep{{PageID: 2, FormID: "gone", Period: day, Since: time.UnixMilli(1)}}))
			median := func() time.Duration {
				took := make([]time.Duration, 500)
				for i := range took {
					begun := time.Now()
					_, err := engine.Create(b.Context(), store.New{PageID: 1, FormID: "named", Username: "owner", Created: begun})
					testkit.Must(b, err)
					took[i] = time.Since(begun)
				}
				slices.Sort(took)
				return took[len(took)/2]
			}
			s := New(Options{Pages: &pagestest.Memory{}, Store: engine, Zone: time.UTC, Now: time.Now})
			for b.Loop() {
				alone := median()
				ctx, end := context.WithCancel(b.Context())
				swept := make(chan error, 1)
				go func() { swept <- s.sweep(ctx, slog.New(slog.DiscardHandler)) }()
				beside := median()
				select {
				case err := <-swept:
					b.Fatalf("the sweep has ended: %v", err)
				default:
				}
				end()
				<-swept
				b.ReportMetric(float64(beside)/float64(alone), "ratio")
			}
		})
	}
}
