package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// warmUp comes before the first turn of everything measured, and is not counted.
	warmUp = 500 * time.Millisecond

	// shortTurn is how long one side runs before it is the other's turn.
	// Machines that are shared change their speed from one second to the next:
	// within turns this short they have about the same for all.
	shortTurn = 250 * time.Millisecond

	// longTurn is for sides that may keep a request waiting for a good part of
	// a short one: a pause that goes on beyond the turn is not counted.
	longTurn = time.Second

	// turnStart is what of a turn is not counted: a side that has stood still
	// has to come into its stride.
	turnStart = 100 * time.Millisecond
)

// runner does what is to be measured for about a length of time, after a start
// that does not count, and adds what it came to.
type runner func(ctx context.Context, start, length time.Duration, t *tally) error

// tally is what the turns of one side have come to.
type tally struct {
	done        int64 // requests, or rows
	wall        time.Duration
	server, own time.Duration // processor time of the server and of this process
	latencies   []time.Duration
}

// sample is what one round came to for one side.
type sample struct {
	perSecond float64
	p50, p99  time.Duration
	cpu       time.Duration // of the server, per request
	ownCPU    time.Duration // of the generator, per request
}

// sample is of a side that has done something.
func (t *tally) sample() sample {
	s := sample{
		perSecond: float64(t.done) / t.wall.Seconds(),
		cpu:       t.server / time.Duration(t.done),
		ownCPU:    t.own / time.Duration(t.done),
	}
	if n := len(t.latencies); n > 0 {
		slices.Sort(t.latencies)
		s.p50, s.p99 = t.latencies[n/2], t.latencies[n*99/100]
	}
	return s
}

// inTurns lets the sides run in turns, each until it has run for the interval
// in all. Who begins changes with every turn.
func inTurns(ctx context.Context, interval, length time.Duration, sides ...runner) ([]sample, error) {
	for _, run := range sides {
		if err := run(ctx, warmUp, 0, &tally{}); err != nil {
			return nil, err
		}
	}
	tallies := make([]tally, len(sides))
	for turn, running := 0, true; running; turn++ {
		running = false
		for i := range sides {
			i = (i + turn) % len(sides)
			left := interval - tallies[i].wall
			if left <= 0 {
				continue
			}
			if err := sides[i](ctx, turnStart, min(left, length), &tallies[i]); err != nil {
				return nil, err
			}
			running = true
		}
	}
	samples := make([]sample, len(sides))
	for i := range tallies {
		if tallies[i].done == 0 {
			return nil, fmt.Errorf("nothing was done within %s", interval) // and whatever it is held against would win
		}
		samples[i] = tallies[i].sample()
	}
	return samples, nil
}

// again does one thing over and over, an insert or a list, of so many rows.
func again(rows int64, do func() error) runner {
	return func(ctx context.Context, start, length time.Duration, t *tally) error {
		return errors.Join(repeat(start, rows, do, &tally{}), repeat(length, rows, do, t), ctx.Err())
	}
}

func repeat(length time.Duration, each int64, do func() error, t *tally) error {
	for begun, before := time.Now(), time.Now(); before.Sub(begun) < length; {
		if err := do(); err != nil {
			return err
		}
		now := time.Now()
		t.done += each
		t.wall += now.Sub(before)
		t.latencies = append(t.latencies, now.Sub(before))
		before = now
	}
	return nil
}
