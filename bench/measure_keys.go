package main

import (
	"context"
	"errors"
)

// createWithKeys measures creates with an Idempotency-Key, each a new one, in
// turns with creates without, on two servers.
func (b *bench) createWithKeys(ctx context.Context) (err error) {
	keyed, err := b.startServer(ctx, b.dataDir("create-keys"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keyed.stop()) }()
	plain, err := b.startServer(ctx, b.dataDir("create-no-keys"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plain.stop()) }()
	var pairs []pair
	for round := range b.rounds {
		p, err := measurePair(ctx, b.interval, newLoad(keyedMessage(), manyConns, keyed), newLoad(createMessage(), manyConns, plain))
		if err != nil {
			return err
		}
		progress(round, "with keys %s, without %s: %.2f", rate(p.ours.perSecond), rate(p.bare.perSecond), p.ratio())
		pairs = append(pairs, p)
	}
	b.results.add(figureOf("creates with an Idempotency-Key, 64 connections, of those without", target{atLeast, 0.75}, "with", "without", pairs, durability))
	return nil
}
