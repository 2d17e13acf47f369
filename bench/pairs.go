package main

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
)

// maxControl is how much two servers of the same binary may differ. Beyond it the machine is too busy for
// a verdict.
const maxControl = 0.03

// comparePairs compares the processor time of the older binary with that of Formulary, and with that of the
// control, which is the older binary, too. The two of a pair are under the same load at the same time: what
// else happens on the machine happens to both.
func (b *bench) comparePairs(ctx context.Context, c comparison) error {
	var now, before, changes, controls []float64 // by round
	for round := range b.rounds {
		taken, err := b.round(ctx, c, func(runners ...runner) ([]sample, error) {
			formulary, old, control := runners[0], runners[1], runners[2]
			for _, run := range runners {
				if err := run(ctx, warmUp, 0, &tally{}); err != nil {
					return nil, err
				}
			}
			pairs := [][]runner{{old, control}, {old, formulary}}
			if round%2 == 1 { // the one that starts first may have an advantage
				pairs = [][]runner{{formulary, old}, {control, old}}
			}
			var samples []sample // old, control, old, Formulary
			for _, pair := range pairs {
				both, err := b.together(ctx, pair)
				if err != nil {
					return nil, err
				}
				samples = append(samples, both...)
			}
			if round%2 == 1 {
				slices.Reverse(samples)
			}
			return samples, nil
		})
		if err != nil {
			return err
		}
		controls = append(controls, taken[1].cpu/taken[0].cpu)
		changes = append(changes, taken[3].cpu/taken[2].cpu)
		now, before = append(now, taken[3].cpu), append(before, taken[2].cpu)
		progress(round, "CPU %s, before %s (%.2f), control %.2f",
			short(taken[3].cpu), short(taken[2].cpu), changes[round], controls[round])
	}
	f := figure{name: "CPU of " + c.title + ", of before", target: target{"≤", noMore}, values: changes, durability: c.durability}
	f.measured = fmt.Sprintf("Formulary %s, before %s", short(median(now)), short(median(before)))
	b.figures = append(b.figures, f)
	f.name, f.target, f.values, f.measured = "control of "+c.title, target{"1 ±", maxControl}, controls, "before beside itself"
	b.figures = append(b.figures, f)
	return nil
}

// together lets both of a pair run at the same time.
func (b *bench) together(ctx context.Context, pair []runner) ([]sample, error) {
	tallies := make([]tally, len(pair))
	var group errgroup.Group
	for i, run := range pair {
		group.Go(func() error { return run(ctx, turnStart, b.interval, &tallies[i]) })
	}
	err := group.Wait()
	samples := make([]sample, len(pair))
	for i := range tallies {
		if err == nil && tallies[i].done == 0 {
			err = fmt.Errorf("nothing was done within %s", b.interval)
		}
		if err == nil {
			samples[i] = tallies[i].sample()
		}
	}
	return samples, err
}
