package events

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/formulary/formulary/internal/store"
)

var (
	hookLabel     = []string{"hook"}
	deliveredOpts = prometheus.CounterOpts{Name: "formulary_events_delivered_total", Help: "Events that were delivered."}
	queuedDesc    = prometheus.NewDesc("formulary_events_queued", "Events that wait for delivery.", hookLabel, nil)
	failedDesc    = prometheus.NewDesc("formulary_events_failed", "Events whose delivery was given up.", hookLabel, nil)
	oldestDesc    = prometheus.NewDesc("formulary_events_oldest_seconds",
		"Age of the oldest event that waits.", hookLabel, nil)
)

// metrics has what was delivered, and what the store has counted.
type metrics struct {
	delivered *prometheus.CounterVec

	mu      sync.Mutex
	countAt time.Time // the next count
	counts  []store.EventCount
	err     error
}

// Describe implements prometheus.Collector.
func (d *Dispatcher) Describe(ch chan<- *prometheus.Desc) {
	d.delivered.Describe(ch)
	ch <- queuedDesc
	ch <- failedDesc
	ch <- oldestDesc
}

// Collect implements prometheus.Collector. It counts every 5 seconds at most, and a tenth
// of the time: a million events take a second. There are no gauges while the store fails.
func (d *Dispatcher) Collect(ch chan<- prometheus.Metric) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if begun := time.Now(); begun.After(d.countAt) {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		d.counts, d.err = d.Store.EventCounts(ctx)
		d.countAt = time.Now().Add(max(5*time.Second, 10*time.Since(begun)))
	}
	byHook := map[string]store.EventCount{}
	for name := range d.destinations() {
		d.delivered.WithLabelValues(name)
		byHook[name] = store.EventCount{}
	}
	d.delivered.Collect(ch)
	if d.err != nil {
		return
	}
	for _, c := range d.counts {
		byHook[c.Hook] = c
	}
	for name, c := range byHook {
		if c.Oldest.IsZero() {
			c.Oldest = time.Now()
		}
		ch <- prometheus.MustNewConstMetric(queuedDesc, prometheus.GaugeValue, float64(c.Queued), name)
		ch <- prometheus.MustNewConstMetric(failedDesc, prometheus.GaugeValue, float64(c.Failed), name)
		age := math.Round(time.Since(c.Oldest).Seconds())
		ch <- prometheus.MustNewConstMetric(oldestDesc, prometheus.GaugeValue, age, name)
	}
}
