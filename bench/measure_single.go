package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	manyConns  = 64
	readIDs    = 10_000
	durability = "every create on disk before its answer (WAL, `synchronous=FULL`)"
	noWrites   = "reads only"
)

// pair is one round of two things measured in turns.
type pair struct{ ours, bare sample }

func measurePair(ctx context.Context, interval time.Duration, ours, bare *load) (pair, error) {
	samples, err := measure(ctx, interval, shortTurn, ours, bare)
	if err != nil {
		return pair{}, err
	}
	return pair{samples[0], samples[1]}, nil
}

// alternate measures a message on two servers, round by round.
func (b *bench) alternate(ctx context.Context, m message, ours, bare *process) ([]pair, error) {
	var pairs []pair
	for round := range b.rounds {
		p, err := measurePair(ctx, b.interval, newLoad(m, manyConns, ours), newLoad(m, manyConns, bare))
		if err != nil {
			return nil, err
		}
		progress(round, "%s, bare %s: %.2f; cpu %s, bare %s", rate(p.ours.perSecond), rate(p.bare.perSecond),
			p.ratio(), short(p.ours.cpu), short(p.bare.cpu))
		pairs = append(pairs, p)
	}
	return pairs, nil
}

func (b *bench) createMany(ctx context.Context) (err error) {
	server, err := b.startServer(ctx, b.dataDir("create-64"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	if err := logIn(ctx, server.addr); err != nil {
		return err
	}
	idle, err := memory(server.pid(), "VmRSS")
	if err != nil {
		return err
	}
	bare, err := b.bareLike(ctx, server, createMessage())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.stop()) }()
	pairs, err := b.alternate(ctx, createMessage(), server, bare)
	if err != nil {
		return err
	}
	after, err := memory(server.pid(), "VmRSS")
	b.results.add(figureOf("creates, 64 connections, of bare POST", target{atLeast, 0.40}, "ours", "bare", pairs, durability))
	b.addCPU("server CPU per create, of bare POST", target{atMost, 3}, pairs, durability)
	b.results.add(figure{
		name: "memory after the creates", durability: durability,
		measured: fmt.Sprintf("RSS %s; %s before them", mebibytes(after), mebibytes(idle)),
	})
	return err
}

// bareLike starts a bare server that answers a message with as many bytes as
// the real one does.
func (b *bench) bareLike(ctx context.Context, server *process, m message) (*process, error) {
	size, err := once(ctx, server.addr, m)
	if err != nil {
		return nil, err
	}
	return b.startBare(ctx, size, size)
}

// ratio is ours as a part of the other.
func (p pair) ratio() float64 { return p.ours.perSecond / p.bare.perSecond }

// figureOf holds ours against the other, which are called so.
func figureOf(name string, t target, ours, bare string, pairs []pair, durable string) figure {
	return figure{
		name: name, target: t, values: each(pairs, pair.ratio), durability: durable,
		measured: ours + " " + describe(pairs, func(p pair) sample { return p.ours }) +
			"; " + bare + " " + describe(pairs, func(p pair) sample { return p.bare }),
	}
}

// describe gives the medians of one side.
func describe(pairs []pair, side func(pair) sample) string {
	return fmt.Sprintf("%s, p50 %s, p99 %s",
		rate(median(each(pairs, func(p pair) float64 { return side(p).perSecond }))),
		short(time.Duration(median(each(pairs, func(p pair) float64 { return float64(side(p).p50) })))),
		short(time.Duration(median(each(pairs, func(p pair) float64 { return float64(side(p).p99) })))))
}

func (b *bench) addCPU(name string, t target, pairs []pair, durable string) {
	of := func(value func(pair) time.Duration) string {
		return short(time.Duration(median(each(pairs, func(p pair) float64 { return float64(value(p)) }))))
	}
	b.results.add(figure{
		name: name, target: t, durability: durable,
		values: each(pairs, func(p pair) float64 { return float64(p.ours.cpu) / float64(p.bare.cpu) }),
		measured: fmt.Sprintf("ours %s, bare %s; the generator took %s",
			of(func(p pair) time.Duration { return p.ours.cpu }),
			of(func(p pair) time.Duration { return p.bare.cpu }),
			of(func(p pair) time.Duration { return p.ours.ownCPU })),
	})
}

func (b *bench) createSerially(ctx context.Context) (err error) {
	server, err := b.startServer(ctx, b.dataDir("create-1"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	tables, err := serverTables()
	if err != nil {
		return err
	}
	raw, err := openInserter(ctx, b.dataDir("raw.db"), tables)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raw.close()) }()
	plain, err := openInserter(ctx, b.dataDir("plain.db"), plainTable)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plain.close()) }()
	creates := newLoad(createMessage(), 1, server)
	defer creates.close()
	if err := creates.open(ctx); err != nil {
		return err
	}
	var pairs, plains []pair // bare is the raw loop
	for round := range b.rounds {
		samples, err := inTurns(ctx, b.interval, shortTurn, creates.run, again(1, raw.once), again(1, plain.once))
		if err != nil {
			return err
		}
		p, plain := pair{samples[0], samples[1]}, pair{samples[0], samples[2]}
		progress(round, "%s, raw inserts %s: %.2f, without indexes %s: %.2f", rate(p.ours.perSecond), rate(p.bare.perSecond),
			p.ratio(), rate(plain.bare.perSecond), plain.ratio())
		pairs, plains = append(pairs, p), append(plains, plain)
	}
	// Which table the raw loop writes to is open, so the target is held to both.
	goal, durable := target{atLeast, 0.40}, durability+", on both sides"
	b.results.add(figureOf("creates, 1 connection, of a raw loop of durable inserts into the same tables", goal, "ours", "raw", pairs, durable))
	b.results.add(figureOf("creates, 1 connection, of a raw loop of durable inserts into a table without indexes", goal, "ours", "raw", plains, durable))
	return nil
}

// updateMany has no bare counterpart and no target: it is told for comparison
// with creates.
func (b *bench) updateMany(ctx context.Context) (err error) {
	data, err := b.fill(ctx, "update-64", readIDs)
	if err != nil {
		return err
	}
	server, err := b.startServer(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	var pairs []pair
	for round := range b.rounds {
		ours, err := measureOne(ctx, server, updateMessage(readIDs), manyConns, b.interval)
		if err != nil {
			return err
		}
		progress(round, "%s; cpu %s", rate(ours.perSecond), short(ours.cpu))
		pairs = append(pairs, pair{ours: ours})
	}
	b.results.add(figure{
		name: "updates, 64 connections, among 10,000", durability: "every update on disk before its answer; a new value in each",
		measured: describe(pairs, func(p pair) sample { return p.ours }),
	})
	return nil
}

func (b *bench) readMany(ctx context.Context) (err error) {
	data, err := b.fill(ctx, "read-64", readIDs)
	if err != nil {
		return err
	}
	server, err := b.startServer(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	bare, err := b.bareLike(ctx, server, readMessage(readIDs))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.stop()) }()
	pairs, err := b.alternate(ctx, readMessage(readIDs), server, bare)
	if err != nil {
		return err
	}
	b.results.add(figureOf("reads of one among 10,000, 64 connections, of bare GET", target{atLeast, 0.60}, "ours", "bare", pairs, noWrites))
	b.addCPU("server CPU per read, of bare GET", target{atMost, 2.3}, pairs, noWrites)
	return nil
}
