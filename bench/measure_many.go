package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

const (
	listRows    = 100_000
	millionRows = 1_000_000
)

func (b *bench) list(ctx context.Context) (err error) {
	data, err := b.fill(ctx, "list", listRows)
	if err != nil {
		return err
	}
	server, err := b.startServer(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	raw, err := openScanner(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raw.close()) }()
	if err := checkLists(ctx, server, raw); err != nil {
		return err
	}

	buf := make([]byte, 256<<10)
	var nested, flat, loop []float64 // rows per second
	for round := range b.rounds {
		samples, err := inTurns(ctx, b.interval/2, shortTurn,
			again(listRows, func() error { return readList(ctx, server.addr, submissionPath, buf) }),
			again(listRows, func() error { _, _, err := raw.scan(); return err }),
			again(listRows, func() error { return readList(ctx, server.addr, resultPath, buf) }))
		if err != nil {
			return err
		}
		nested, loop, flat = append(nested, samples[0].perSecond), append(loop, samples[1].perSecond), append(flat, samples[2].perSecond)
		progress(round, "nested %s rows, raw loop %s: %.2f; flat %s: %.2f", rate(nested[round]), rate(loop[round]),
			nested[round]/loop[round], rate(flat[round]), flat[round]/nested[round])
	}
	b.addLists(nested, flat, loop)
	return nil
}

// checkLists makes sure that all three read the same: both lists are whole, and
// the raw loop writes as many bytes as the nested list has.
func checkLists(ctx context.Context, server *process, raw *scanner) error {
	size, err := checkList(ctx, server.addr, submissionPath, listRows)
	if err != nil {
		return err
	}
	if _, err := checkList(ctx, server.addr, resultPath, listRows); err != nil {
		return err
	}
	rows, written, err := raw.scan()
	if err == nil && (rows != listRows || written != size) {
		err = fmt.Errorf("the raw loop reads %d rows and writes %d bytes, where the list has %d and %d", rows, written, listRows, size)
	}
	return err
}

func (b *bench) addLists(nested, flat, loop []float64) {
	b.results.add(figure{
		name: "nested list of 100,000, of the raw scan-and-encode loop", target: target{atLeast, 0.70}, durability: noWrites,
		values:   ratios(nested, loop),
		measured: fmt.Sprintf("list %s rows, loop %s rows", rate(median(nested)), rate(median(loop))),
	})
	b.results.add(figure{
		name: "flat list of 100,000, of the nested one", target: target{atLeast, 0.50}, durability: noWrites,
		values:   ratios(flat, nested),
		measured: fmt.Sprintf("flat %s rows, nested %s rows", rate(median(flat)), rate(median(nested))),
	})
}

// million makes the data directory with a million submissions, once.
func (b *bench) million(ctx context.Context) (string, error) {
	if b.full == "" {
		data, err := b.fill(ctx, "million", millionRows)
		if err != nil {
			return "", err
		}
		b.full = data
	}
	return b.full, nil
}

// millionStart starts the server on a million submissions, and has it list
// them all.
func (b *bench) millionStart(ctx context.Context) error {
	data, err := b.million(ctx)
	if err != nil {
		return err
	}
	var starts, idles, growths, rates []float64
	for round := range b.rounds {
		r, err := b.startAndRead(ctx, data, nestedList)
		if err != nil {
			return err
		}
		progress(round, "first answer after %s; list of a million: %s rows, idle %s, grew by %s",
			short(r.start), rate(r.rows), mebibytes(r.idle), mebibytes(r.growth))
		starts = append(starts, r.start.Seconds()*1000)
		idles, growths, rates = append(idles, r.idle), append(growths, r.growth/(1<<20)), append(rates, r.rows)
	}
	b.results.add(figure{
		name: "start of the process to the first 200 of `/healthz`, 1,000,000 stored", target: target{below, 50}, unit: " ms",
		values: starts, durability: "the last server was stopped with SIGTERM; file in the page cache",
		measured: short(time.Duration(median(starts) * float64(time.Millisecond))),
	})
	b.results.add(figure{
		name: "peak memory while 1,000,000 are listed, above idle", target: target{below, 64}, unit: " MiB",
		values: growths, durability: noWrites,
		measured: fmt.Sprintf("idle RSS %s; listed at %s rows", mebibytes(median(idles)), rate(median(rates))),
	})
	return nil
}

type startResult struct {
	start        time.Duration
	idle, growth float64 // bytes
	rows         float64 // per second
}

// millionCreate holds creates on a million stored against creates on none.
func (b *bench) millionCreate(ctx context.Context) (err error) {
	data, err := b.million(ctx)
	if err != nil {
		return err
	}
	full, err := b.startServer(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, full.stop()) }()
	var pairs []pair
	for round := range b.rounds {
		p, err := b.fullAndEmpty(ctx, full, b.dataDir(fmt.Sprintf("empty-%d", round)))
		if err != nil {
			return err
		}
		progress(round, "%s, with none stored %s: %.2f", rate(p.ours.perSecond), rate(p.bare.perSecond), p.ratio())
		pairs = append(pairs, p)
	}
	b.results.add(figureOf("creates, 64 connections, 1,000,000 stored, of none stored", target{atLeast, 0.90}, "million", "none", pairs, durability))
	return nil
}

// fullAndEmpty is one round, with a server of its own for the empty side: the
// last round's is not empty any more.
func (b *bench) fullAndEmpty(ctx context.Context, full *process, emptyData string) (p pair, err error) {
	empty, err := b.startServer(ctx, emptyData)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, empty.stop(), os.RemoveAll(emptyData)) }()
	return measurePair(ctx, b.interval, newLoad(createMessage(), manyConns, full), newLoad(createMessage(), manyConns, empty))
}

// millionSlowReader creates beside somebody who takes the whole list slowly.
func (b *bench) millionSlowReader(ctx context.Context) (err error) {
	data, err := b.million(ctx)
	if err != nil {
		return err
	}
	server, err := b.startServer(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	var pairs []pair // bare is without the reader
	var wals []float64
	for round := range b.rounds {
		var p pair
		if p.bare, err = measureOne(ctx, server, createMessage(), manyConns, b.interval); err != nil {
			return err
		}
		var wal float64
		if p.ours, wal, err = b.besideSlowReader(ctx, server, data); err != nil {
			return err
		}
		progress(round, "%s, without the reader %s: %.2f; WAL up to %s", rate(p.ours.perSecond), rate(p.bare.perSecond),
			p.ratio(), megabytes(wal))
		pairs, wals = append(pairs, p), append(wals, wal/1e6)
	}
	b.results.add(figureOf("creates, 64 connections, beside a slow reader of 1,000,000, of alone", target{atLeast, 0.75}, "beside", "alone", pairs, durability))
	b.results.add(figure{
		name: "largest WAL beside the slow reader", target: target{below, 32}, unit: " MB", worst: true,
		values: wals, durability: durability, measured: "the largest of all rounds is what counts",
	})
	return nil
}

func (b *bench) besideSlowReader(ctx context.Context, server *process, data string) (s sample, wal float64, err error) {
	reader, err := startSlowReader(ctx, server.addr, submissionPath)
	if err != nil {
		return s, 0, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	largest := make(chan float64, 1)
	go func() { largest <- watchSize(watching, database(data)+"-wal") }()
	s, err = measureOne(ctx, server, createMessage(), manyConns, b.interval)
	stop()
	read, errReader := reader.stop()
	if err == nil && float64(read) < b.interval.Seconds()*slowPiece*5 {
		err = fmt.Errorf("the slow reader got %d bytes only: the list was held up", read)
	}
	return s, <-largest, errors.Join(err, errReader)
}

// watchSize returns the largest size that a file has had by the time ctx ends.
func watchSize(ctx context.Context, path string) float64 {
	largest := int64(0)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		info, err := os.Stat(path)
		if err == nil {
			largest = max(largest, info.Size())
		} else if !errors.Is(err, fs.ErrNotExist) {
			return float64(largest)
		}
		select {
		case <-ctx.Done():
			return float64(largest)
		case <-tick.C:
		}
	}
}
