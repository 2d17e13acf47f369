package main

import (
	"context"
	"errors"
	"fmt"
	"time"
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
	if err := b.fewAndMany(ctx, "read one", few, many, readMessage(fewRows), readMessage(int(b.rows)), noWrites); err != nil {
		return err
	}
	if err := b.pgPages(ctx, many); err != nil {
		return err
	}
	// Creates come last: they would put the end of the list elsewhere.
	return b.fewAndMany(ctx, "create", few, many, createMessage(), createMessage(), pgDurability)
}

func (b *bench) fewAndMany(ctx context.Context, what, few, many string, onFew, onMany message, durable string) error {
	all, err := b.sideBySide(ctx, []side{
		{"many", onMany, func(ctx context.Context) (*process, error) { return b.startOnPostgres(ctx, "pg_many", many) }},
		{"few", onFew, func(ctx context.Context) (*process, error) { return b.startOnPostgres(ctx, "pg_few", few) }},
	}, 1, manyConns)
	if err != nil {
		return err
	}
	for _, n := range []int{1, manyConns} {
		b.results.addPeer(figure{
			name:   fmt.Sprintf("p50 of %s, %s stored in PostgreSQL, of a table all but empty, %s", what, grouped(float64(b.rows)), onConns(n)),
			target: target{atMost, 1.2}, durability: durable, values: all[0].of(all[1], n, p50), measured: describeAll(all, n),
		})
	}
	return nil
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
	var took [2][]float64 // at the start, at the end
	for round := range b.rounds {
		for i, after := range []int64{0, b.rows - pagesOf} {
			request := fmt.Appendf(nil, "GET %s?limit=%d&after=%d%s\r\n", submissionPath, pagesOf, after, headers())
			p50, err := pageLatency(ctx, server.addr, request, b.peerInterval()/2)
			if err != nil {
				return err
			}
			took[i] = append(took[i], float64(p50))
		}
		progress(round, "first page %s, last page %s", short(time.Duration(took[0][round])), short(time.Duration(took[1][round])))
	}
	b.results.addPeer(figure{
		name: fmt.Sprintf("p50 of the list's last page of 100 by key, %s stored in PostgreSQL, of the first", grouped(float64(b.rows))),
		// Equally fast, but for what two measurements of one thing differ by.
		target: target{atMost, 1.1}, durability: noWrites, values: ratios(took[1], took[0]),
		measured: fmt.Sprintf("first %s, last %s", duration(took[0]), duration(took[1])),
	})
	return nil
}
