package main

import (
	"context"
	"errors"
	"fmt"
)

// pgRows holds a table of many submissions in one form against one that is all
// but empty, and the list's last page against its first.
func (b *bench) pgRows(ctx context.Context) error {
	if err := enoughRoom(b.work, b.rows); err != nil {
		return err
	}
	few, err := b.fillPostgres(ctx, "pg_few", fewRows)
	if err != nil {
		return err
	}
	many, err := b.fillPostgres(ctx, "pg_many", b.rows)
	if err != nil {
		return err
	}
	if err := b.pgReads(ctx, few, many); err != nil {
		return err
	}
	if err := b.pgPages(ctx, many); err != nil {
		return err
	}
	// Creates come last: they would put the end of the list elsewhere.
	return b.pgCreates(ctx, few, many)
}

// pgReads reads one submission at a time, from all of the many and from the
// latest of them: as many as the small table has, and so as easily kept at hand.
func (b *bench) pgReads(ctx context.Context, few, many string) error {
	latest := readMessage(fewRows)
	latest.before = b.rows - fewRows
	all, err := b.sideBySide(ctx, shortTurn, []side{
		{"many", readMessage(int(b.rows)), b.onPostgres("pg_many", many)},
		{"the latest of many", latest, b.onPostgres("pg_many_latest", many)},
		{"few", readMessage(fewRows), b.onPostgres("pg_few", few)},
	}, 1, manyConns)
	if err != nil {
		return err
	}
	anywhere, among, small := all[0], all[1], all[2]
	b.addRows("read one", 1, "", noWrites, anywhere, small)
	b.addRows("read one", manyConns, " of the latest "+grouped(fewRows), noWrites, among, small)
	b.addRows("read one", manyConns, "", noWrites, anywhere, small)
	return nil
}

func (b *bench) pgCreates(ctx context.Context, few, many string) error {
	all, err := b.sideBySide(ctx, shortTurn, []side{
		{"many", createMessage(), b.onPostgres("pg_many", many)},
		{"few", createMessage(), b.onPostgres("pg_few", few)},
	}, 1, manyConns)
	if err != nil {
		return err
	}
	for _, n := range []int{1, manyConns} {
		b.addRows("create", n, "", pgDurability, all[0], all[1])
	}
	return nil
}

// onPostgres starts formulary on a database, under a name of its own.
func (b *bench) onPostgres(name, url string) func(context.Context) (*process, error) {
	return func(ctx context.Context) (*process, error) { return b.startOnPostgres(ctx, name, url) }
}

func (b *bench) addRows(what string, conns int, which, durable string, many, few outcome) {
	b.results.addPeer(figure{
		name:   fmt.Sprintf("p50 of %s%s, %s stored in PostgreSQL, of a table all but empty, %s", what, which, grouped(float64(b.rows)), onConns(conns)),
		target: target{atMost, 1.2}, durability: durable, values: many.of(few, conns, p50), measured: describeAll([]outcome{many, few}, conns),
	})
}

// pagesOf is how many submissions a page has.
const pagesOf = 100

// pgPages asks for the first and the last page of the list.
func (b *bench) pgPages(ctx context.Context, url string) (err error) {
	server, err := b.startOnPostgres(ctx, "pg_many", url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	if err := logIn(ctx, server.addr); err != nil {
		return err
	}
	c, err := dial(ctx, server.addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.conn.Close()) }()
	buf := make([]byte, 256<<10)
	page := func(after int64) runner {
		request := fmt.Appendf(nil, "GET %s?limit=%d&after=%d%s\r\n", submissionPath, pagesOf, after, headers())
		return again(pagesOf, func() error { return c.page(request, buf) })
	}
	var took [2][]float64 // at the start, at the end
	for round := range b.rounds {
		samples, err := inTurns(ctx, b.peerInterval()/2, shortTurn, page(0), page(b.rows-pagesOf))
		if err != nil {
			return err
		}
		for i, s := range samples {
			took[i] = append(took[i], p50(s))
		}
		progress(round, "first page %s, last page %s", short(samples[0].p50), short(samples[1].p50))
	}
	b.results.addPeer(figure{
		name: fmt.Sprintf("p50 of the list's last page of 100 by key, %s stored in PostgreSQL, of the first", grouped(float64(b.rows))),
		// Equally fast, but for what two measurements of one thing differ by.
		target: target{atMost, 1.1}, durability: noWrites, values: ratios(took[1], took[0]),
		measured: fmt.Sprintf("first %s, last %s", duration(took[0]), duration(took[1])),
	})
	return nil
}
