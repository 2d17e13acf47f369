package main

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
)

const (
	// noMore is what a change may make of processor time, start and memory.
	noMore = 1.05

	// maxControl is how much two servers of the same binary may differ. Beyond it the machine is too busy for a verdict.
	maxControl = 0.03
)

// comparePairs compares the processor time of Formulary with the older binary, and that with the control, which is
// the older binary, too. The two of a pair are under the same load at the same time, so the rest of the machine
// disturbs both alike.
func (b *bench) comparePairs(ctx context.Context, m *measurement) ([]figure, error) {
	var now, old, changes, controls []float64 // by round
	for round := range b.rounds {
		taken, err := b.round(ctx, m, m.contenders(b), func(runners ...runner) ([]sample, error) {
			formulary, old, control := runners[0], runners[1], runners[2]
			for _, run := range runners {
				if err := run(ctx, warmUp, 0, &tally{}); err != nil {
					return nil, err
				}
			}
			order := []runner{old, control, old, formulary}
			if round%2 == 1 { // the first of a pair may have an advantage
				slices.Reverse(order)
			}
			first, err := b.together(ctx, order[:2])
			if err != nil {
				return nil, err
			}
			second, err := b.together(ctx, order[2:])
			samples := slices.Concat(first, second)
			if round%2 == 1 {
				slices.Reverse(samples)
			}
			return samples, err
		})
		if err != nil {
			return nil, err
		}
		controls = append(controls, taken[1].cpu/taken[0].cpu)
		changes = append(changes, taken[3].cpu/taken[2].cpu)
		now, old = append(now, taken[3].cpu), append(old, taken[2].cpu)
		progress(round, "CPU %s, before %s (%.2f), control %.2f",
			short(taken[3].cpu), short(taken[2].cpu), changes[round], controls[round])
	}
	return []figure{
		{
			name: "CPU: " + m.title, target: target{"≤", noMore}, values: changes, unit: " ×", than: before,
			measured: fmt.Sprintf("Formulary %s, before %s", short(median(now)), short(median(old))),
		},
		{name: "Control: " + m.title, target: target{"1 ±", maxControl}, values: controls, measured: "before beside itself"},
	}, nil
}

// together runs both of a pair at the same time.
func (b *bench) together(ctx context.Context, pair []runner) ([]sample, error) {
	tallies := make([]tally, len(pair))
	var group errgroup.Group
	for i, run := range pair {
		group.Go(func() error { return run(ctx, turnStart, b.interval, &tallies[i]) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return samplesOf(tallies)
}
