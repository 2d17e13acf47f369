package main

import (
	"context"
	"errors"
	"fmt"
)

// filteredPath is a list of the hundredth of all results whose number ends in
// these two digits.
const filteredPath = resultPath + "?filter[comment][contains]=37:%20the"

// millionFilter holds a list that a filter takes one in a hundred of against
// the whole list, on SQLite.
func (b *bench) millionFilter(ctx context.Context) (err error) {
	data, err := b.million(ctx)
	if err != nil {
		return err
	}
	server, err := b.startServer(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	return b.filter(ctx, "SQLite", server)
}

// pgFilter is millionFilter on PostgreSQL.
func (b *bench) pgFilter(ctx context.Context) (err error) {
	url, err := b.fillPostgresBy(ctx, b.binary, "filter", millionRows)
	if err != nil {
		return err
	}
	server, err := b.startBinaryOnPostgres(ctx, b.binary, "filter", url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	return b.filter(ctx, "PostgreSQL", server)
}

func (b *bench) filter(ctx context.Context, engine string, server *process) error {
	if _, err := checkList(ctx, server.addr, filteredPath, millionRows/100); err != nil {
		return err
	}
	buf := make([]byte, 256<<10)
	read := func(path string) runner {
		return again(millionRows, func() error { return readList(ctx, server.addr, path, buf) })
	}
	var filtered, whole []float64 // rows read per second
	for round := range b.rounds {
		samples, err := inTurns(ctx, b.interval, longTurn, read(filteredPath), read(resultPath))
		if err != nil {
			return err
		}
		filtered, whole = append(filtered, samples[0].perSecond), append(whole, samples[1].perSecond)
		progress(round, "filtered %s rows, all %s rows: %.2f", rate(filtered[round]), rate(whole[round]), filtered[round]/whole[round])
	}
	b.results.add(figure{
		name:   fmt.Sprintf("rows that a filter reads to find 1 %% of 1,000,000 on %s, of the whole list", engine),
		target: target{atLeast, 0.5}, durability: noWrites, values: ratios(filtered, whole),
		measured: fmt.Sprintf("filtered %s rows, the whole list %s rows", rate(median(filtered)), rate(median(whole))),
	})
	return nil
}
