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
	warmUp = 300 * time.Millisecond

	// turnLength is the longest time that one side runs. The speed of a shared machine changes from one second to
	// the next. PocketBase may keep a request waiting for most of a second.
	turnLength = time.Second

	// turnStart is the part of a turn that is not counted: a side that was idle has to get up to speed.
	turnStart = 100 * time.Millisecond
)

// runner does a task for about a length of time, after a start that does not count, and adds the outcome to the
// tally.
type runner func(ctx context.Context, start, length time.Duration, t *tally) error

// tally is the sum of the turns of one side.
type tally struct {
	done      int64 // requests, or rows
	wall      time.Duration
	cpu       time.Duration // processor time of the server
	latencies []time.Duration
}

// sample is the outcome of a round for one side. Times are in seconds; cpu is per request or row.
type sample struct{ perSecond, p50, p99, cpu float64 }

func perSecond(s sample) float64 { return s.perSecond }
func p50(s sample) float64       { return s.p50 }
func p99(s sample) float64       { return s.p99 }

func (t *tally) sample() sample {
	slices.Sort(t.latencies)
	n := len(t.latencies)
	return sample{
		perSecond: float64(t.done) / t.wall.Seconds(), cpu: t.cpu.Seconds() / float64(t.done),
		p50: t.latencies[n/2].Seconds(), p99: t.latencies[n*99/100].Seconds(),
	}
}

// inTurns runs the sides in turns, each until it has run for the interval in all. The first side
// changes with every turn.
func inTurns(ctx context.Context, interval time.Duration, sides ...runner) ([]sample, error) {
	for _, run := range sides {
		if err := run(ctx, warmUp, 0, &tally{}); err != nil {
			return nil, err
		}
	}
	tallies := make([]tally, len(sides))
	turns := int((interval + turnLength - 1) / turnLength)
	for turn := range turns {
		for i := range sides {
			i = (i + turn) % len(sides)
			if tallies[i].wall >= interval { // its first turns took longer
				continue
			}
			if err := sides[i](ctx, turnStart, interval/time.Duration(turns), &tallies[i]); err != nil {
				return nil, err
			}
		}
	}
	return samplesOf(tallies)
}

func samplesOf(tallies []tally) ([]sample, error) {
	samples := make([]sample, len(tallies))
	for i := range tallies {
		if tallies[i].done == 0 {
			return nil, errors.New("nothing was done: give more -seconds")
		}
		samples[i] = tallies[i].sample()
	}
	return samples, nil
}

// repeatedly asks a server for one thing after the other, such as a list of so many rows. Everything counts: one
// client is at full speed from the start.
func repeatedly(server *process, rows int64, do func() error) runner {
	return func(ctx context.Context, start, length time.Duration, t *tally) error {
		cpu, before := server.cpuTime(), time.Now()
		for end := before.Add(max(start, length)); before.Before(end); {
			if err := errors.Join(do(), ctx.Err()); err != nil {
				return fmt.Errorf("%s: %w", server.log, err)
			}
			now := time.Now()
			t.done += rows
			t.wall += now.Sub(before)
			t.latencies = append(t.latencies, now.Sub(before))
			before = now
		}
		t.cpu += server.cpuTime() - cpu
		return nil
	}
}
