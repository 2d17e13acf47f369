package events

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// countingStore is a real store that can be made to fail when it counts.
type countingStore struct {
	store.Engine
	counted atomic.Int64
	fail    atomic.Bool
}

func (s *countingStore) EventCounts(ctx context.Context) ([]store.EventCount, error) {
	s.counted.Add(1)
	if _, bounded := ctx.Deadline(); s.fail.Load() || !bounded {
		return nil, store.ErrUnavailable
	}
	return s.Engine.EventCounts(ctx)
}

// gather returns the metrics as lines, ages in hours.
func gather(t *testing.T, d *Dispatcher) []string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(d)
	families, err := registry.Gather()
	testkit.Must(t, err)
	var lines []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue()
			if strings.HasSuffix(family.GetName(), "seconds") {
				value = float64(int(value / 3600))
			}
			lines = append(lines, fmt.Sprintf("%s %s=%s %v", strings.TrimPrefix(family.GetName(), "formulary_events_"),
				m.GetLabel()[0].GetName(), m.GetLabel()[0].GetValue(), value))
		}
	}
	slices.Sort(lines)
	return lines
}

func TestMetrics(t *testing.T) {
	r := newReceiver(t, func(c call) int {
		if strings.Contains(c.Body, `"id":1}`) {
			return 410
		}
		return 200
	})
	f := open(t, enginetest.Default(), r.hook("crm"), r.hook("idle", "  pages: [9]"))
	form := &forms.Form{PageID: 1, ID: "a", Notify: []string{"hr@example.org"}}
	for range 3 {
		f.createsAt(form, "someone", "1", time.Now())
	}
	d := f.dispatcher()
	counting := &countingStore{Engine: f.store}
	d.Store = counting
	stop := f.runs(d)
	f.settles("crm", 1)
	f.settles("mail", 0)
	stop()
	f.createsAt(form, "someone", "1", time.Now().Add(-2*time.Hour-time.Minute))
	f.writes(entry("other", "pages: [9]")) // crm has left, and has events
	f.listeners.Reload(t.Context())
	counters := []string{"delivered_total hook=crm 2", "delivered_total hook=mail 3", "delivered_total hook=other 0"}
	want := slices.Concat(counters, []string{
		"failed hook=crm 1", "failed hook=mail 0", "failed hook=other 0",
		"oldest_seconds hook=crm 2", "oldest_seconds hook=mail 2", "oldest_seconds hook=other 0",
		"queued hook=crm 1", "queued hook=mail 1", "queued hook=other 0",
	})
	testkit.Diff(t, "", gather(t, d), want)
	if gather(t, d); counting.counted.Load() != 1 {
		t.Errorf("counted %d times within 5 seconds", counting.counted.Load())
	}
	counting.fail.Store(true)
	d.countAt = time.Now()
	testkit.Diff(t, "while the store fails", gather(t, d), counters)
}
