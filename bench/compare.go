package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// comparison is one thing that is measured in turns on several sides.
type comparison struct {
	title      string
	store      string // what the stores of the sides are called
	rows       int64  // what they hold before
	durability string
	budget     float64 // for the p50 of the first lane, in milliseconds; 0 for none
	lanes      []lane  // the first is compared with the others; with -before see pairs
}

// lane is one of the things that take turns. Two lanes may share a server.
type lane struct {
	name    string
	side    side
	task    task
	atLeast float64 // what the first lane must reach of this one
}

// task prepares what is measured on a server. The returned function ends it.
type task func(ctx context.Context, server *process) (run runner, end func(), err error)

// make makes a store, unless it is there.
func (b *bench) make(ctx context.Context, s side, store string, rows int64) error {
	key := store + "-" + s.name
	if b.made[key] {
		return nil
	}
	if rows > 0 {
		fmt.Printf("  %s: storing %s submissions\n", s.name, grouped(float64(rows)))
	}
	if err := s.make(ctx, store, rows); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	b.made[key] = true
	unix.Sync() // what was stored is written now, and not during a measurement
	return nil
}

// compare measures all rounds, and adds the figures.
func (b *bench) compare(ctx context.Context, c comparison) error {
	if b.before != "" {
		return b.comparePairs(ctx, c)
	}
	samples := make([][]sample, len(c.lanes)) // by lane, then by round
	for round := range b.rounds {
		taken, err := b.round(ctx, c, func(runners ...runner) ([]sample, error) {
			return inTurns(ctx, b.interval, runners...)
		})
		if err != nil {
			return err
		}
		var texts []string
		for i, s := range taken {
			samples[i] = append(samples[i], s)
			texts = append(texts, fmt.Sprintf("%s %s (%.2f)", c.lanes[i].name, rate(s.perSecond), taken[0].perSecond/s.perSecond))
		}
		progress(round, "%s", strings.Join(texts, ", "))
	}
	b.addComparison(c, samples)
	return nil
}

// round starts all servers, calls measure with the lanes, and stops the servers.
func (b *bench) round(
	ctx context.Context, c comparison, measure func(...runner) ([]sample, error),
) (samples []sample, err error) {
	servers := map[string]*process{} // by side
	for _, l := range c.lanes {
		if servers[l.side.name] != nil {
			continue
		}
		if err := b.make(ctx, l.side, c.store, c.rows); err != nil {
			return nil, err
		}
		server, startErr := l.side.start(ctx, c.store)
		if startErr != nil {
			return nil, fmt.Errorf("%s: %w", l.name, startErr)
		}
		defer func() { err = errors.Join(err, server.stop()) }()
		servers[l.side.name] = server
	}
	var runners []runner
	for _, l := range c.lanes {
		run, end, err := l.task(ctx, servers[l.side.name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		defer end()
		runners = append(runners, run)
	}
	return measure(runners...)
}

// addComparison adds a row for each target, or one row if there is none.
func (b *bench) addComparison(c comparison, samples [][]sample) {
	var texts []string
	for i, l := range c.lanes {
		of := func(value func(sample) float64) float64 { return median(each(samples[i], value)) }
		texts = append(texts, fmt.Sprintf("%s %s, p50 %s, p99 %s, CPU %s", l.name, rate(of(perSecond)), short(of(p50)), short(of(p99)), short(of(cpu))))
	}
	f := figure{name: c.title, durability: c.durability, measured: strings.Join(texts, "; ")}
	for i, l := range c.lanes[1:] {
		f.name, f.target = c.title+", of "+l.name, target{"≥", l.atLeast}
		f.values = ratios(each(samples[0], perSecond), each(samples[i+1], perSecond))
		b.figures = append(b.figures, f)
		f.measured = "as above"
	}
	if c.budget > 0 {
		f.target, f.unit = target{"≤", c.budget}, " ms"
		f.values = each(samples[0], func(s sample) float64 { return s.p50 * 1000 })
	}
	if len(c.lanes) == 1 {
		b.figures = append(b.figures, f)
	}
}
