package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/jackc/pgx/v5"
)

const pgDurability = "every create committed and synced by PostgreSQL before its answer (`synchronous_commit=on`), on all sides"

// makeTables makes a database with the server's own tables in it.
func (b *bench) makeTables(ctx context.Context, name string) (url string, err error) {
	return b.makeTablesBy(ctx, b.binary, name)
}

func (b *bench) makeTablesBy(ctx context.Context, binary, name string) (url string, err error) {
	if url, err = b.newDatabase(ctx, name); err != nil {
		return "", err
	}
	server, err := b.startBinaryOnPostgres(ctx, binary, name, url)
	if err != nil {
		return "", err
	}
	return url, server.stop()
}

// fillPostgres makes a database that holds submissions. They are copied past
// the server, and swept up after, so that it is not done during a measurement.
func (b *bench) fillPostgres(ctx context.Context, name string, rows int64) (url string, err error) {
	return b.fillPostgresBy(ctx, b.binary, name, rows)
}

func (b *bench) fillPostgresBy(ctx context.Context, binary, name string, rows int64) (url string, err error) {
	if url, err = b.makeTablesBy(ctx, binary, name); err != nil {
		return "", err
	}
	fmt.Printf("  storing %s submissions in PostgreSQL\n", grouped(float64(rows)))
	if err := copyRows(ctx, url, rows); err != nil {
		return "", err
	}
	return url, execute(ctx, url, moveSequences(rows), `VACUUM (ANALYZE) submissions`, `CHECKPOINT`)
}

func copyRows(ctx context.Context, url string, rows int64) (err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	id, entries := int64(0), int64(len(answers))
	var fields []byte
	values := make([]any, 6)
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"submissions"}, []string{"page_id", "form_id", "id", "username", "created", "fields"},
		pgx.CopyFromFunc(func() ([]any, error) {
			if id == rows {
				return nil, nil
			}
			id++
			fields = appendFields(fields[:0], id, (id-1)*entries+1)
			values[0], values[1], values[2] = int64(pageID), formID, id
			values[3], values[4], values[5] = user, firstCreated+1000*id, fields
			return values, nil
		}))
	return err
}

// moveSequences has ids go on behind those that were copied.
func moveSequences(rows int64) string {
	return fmt.Sprintf(`SELECT setval('submission_ids', %d), setval('entry_ids', %d)`, rows, rows*int64(len(answers)))
}

// postgresSides are Formulary on one database, and the raw server on another:
// each keeps count of its ids by itself.
func (b *bench) postgresSides(name, ours, raw string, m message) []side {
	return []side{
		{"Formulary", m, func(ctx context.Context) (*process, error) { return b.startOnPostgres(ctx, name, ours) }},
		{"raw pgx", m, func(ctx context.Context) (*process, error) { return b.startPgx(ctx, name+"_raw", raw) }},
	}
}

func (b *bench) pgCreate(ctx context.Context) error {
	ours, err := b.makeTables(ctx, "pg_create")
	if err != nil {
		return err
	}
	raw, err := b.makeTables(ctx, "pg_create_raw")
	if err != nil {
		return err
	}
	one, err := b.makeTables(ctx, "pg_create_one")
	if err != nil {
		return err
	}
	single, err := b.buildSingle(ctx)
	if err != nil {
		return err
	}
	sides := append(b.postgresSides("pg_create", ours, raw, createMessage()),
		side{"one row per request", createMessage(), func(ctx context.Context) (*process, error) {
			return b.startBinaryOnPostgres(ctx, single, "pg_create_one", one)
		}})
	all, err := b.sideBySide(ctx, shortTurn, sides, connections...)
	if err != nil {
		return err
	}
	b.addLoads("creates on PostgreSQL", all, connections, pgDurability)
	b.results.addPeer(figure{
		name: "creates on PostgreSQL, 64 connections, of the same service inserting one row per request", target: target{atLeast, 1.6},
		durability: pgDurability, values: all[0].of(all[2], manyConns, perSecond), measured: "as above",
	})
	b.results.addPeer(figure{
		name: "the same, of raw pgx behind net/http inserting one row per request", durability: pgDurability,
		measured: fmt.Sprintf("%.2f", median(all[0].of(all[1], manyConns, perSecond))),
	})
	b.addSizes(", on PostgreSQL", all, pgDurability)
	return nil
}

func (b *bench) pgRead(ctx context.Context) error {
	url, err := b.fillPostgres(ctx, "pg_read", readIDs)
	if err != nil {
		return err
	}
	all, err := b.sideBySide(ctx, shortTurn, b.postgresSides("pg_read", url, url, readMessage(readIDs)), manyConns)
	if err != nil {
		return err
	}
	b.results.addPeer(figure{
		name: "reads of one among 10,000 on PostgreSQL, 64 connections, of raw pgx behind net/http", target: target{atLeast, 0.6},
		durability: noWrites, values: all[0].of(all[1], manyConns, perSecond), measured: describeAll(all, manyConns),
	})
	return nil
}

func (b *bench) pgList(ctx context.Context) error {
	for _, rows := range []int64{fewRows, listRows} {
		if err := b.pgListOf(ctx, rows); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) pgListOf(ctx context.Context, rows int64) (err error) {
	name := fmt.Sprintf("pg_list_%d", rows)
	url, err := b.fillPostgres(ctx, name, rows)
	if err != nil {
		return err
	}
	server, err := b.startOnPostgres(ctx, name, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	raw, err := openPgxScanner(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raw.close(context.WithoutCancel(ctx))) }()
	if err := checkPgList(ctx, server, raw, rows); err != nil {
		return err
	}
	buf := make([]byte, 256<<10)
	lists, err := b.listsInTurns(ctx, rows,
		func() error { return readList(ctx, server.addr, submissionPath, buf) },
		func() error { _, _, err := raw.scan(ctx); return err })
	if err != nil {
		return err
	}
	f := figure{
		name: "list of " + grouped(float64(rows)) + " on PostgreSQL, of the raw pgx scan-and-encode loop", durability: noWrites,
		measured: fmt.Sprintf("list %s rows, loop %s rows", rate(median(lists[0])), rate(median(lists[1]))),
	}
	if rows == listRows { // the shorter one is told only
		f.target, f.values = target{atLeast, 0.5}, ratios(lists[0], lists[1])
	}
	b.results.addPeer(f)
	return nil
}

// checkPgList makes sure that both read the same.
func checkPgList(ctx context.Context, server *process, raw *pgxScanner, rows int64) error {
	size, err := checkList(ctx, server.addr, submissionPath, rows)
	if err != nil {
		return err
	}
	got, written, err := raw.scan(ctx)
	if err == nil && (got != rows || written != size) {
		err = fmt.Errorf("the raw loop reads %d rows and writes %d bytes, where the list has %d and %d", got, written, rows, size)
	}
	return err
}

// pgReplicas creates through three servers on one database, and through one.
func (b *bench) pgReplicas(ctx context.Context) (err error) {
	url, err := b.makeTables(ctx, "pg_replicas")
	if err != nil {
		return err
	}
	var servers []*process
	for i := range 3 {
		server, startErr := b.startOnPostgres(ctx, fmt.Sprintf("pg_replica_%d", i), url)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, server.stop()) }()
		servers = append(servers, server)
	}
	var pairs []pair // bare is one replica
	for round := range b.rounds {
		p, err := measurePair(ctx, b.peerInterval(), newLoad(createMessage(), manyConns, servers...), newLoad(createMessage(), manyConns, servers[0]))
		if err != nil {
			return err
		}
		progress(round, "three replicas %s, one %s: %.2f", rate(p.ours.perSecond), rate(p.bare.perSecond), p.ratio())
		pairs = append(pairs, p)
	}
	b.results.addPeer(figureOf("creates on PostgreSQL, 64 connections, through three replicas, of one", target{atLeast, 0.9}, "three", "one", pairs, pgDurability))
	return nil
}

// enoughRoom fails before the disk does: a row takes some 700 bytes with its
// indexes, and the log of the copy a gigabyte or two.
func enoughRoom(dir string, rows int64) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return err
	}
	free, needed := float64(disk.Bavail)*float64(disk.Bsize), float64(rows)*1000+3e9
	if free < needed {
		return fmt.Errorf("%s submissions need %s, but the disk has %s left: choose fewer with -rows",
			grouped(float64(rows)), megabytes(needed), megabytes(free))
	}
	return nil
}
