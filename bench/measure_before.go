package main

import (
	"context"
	"errors"
	"fmt"
)

// A change must leave so much of the speed that there was before it, and may
// take so much more processor time. Processor time is the figure to go by on a
// machine that other machines share: their load changes how long a request
// takes, but hardly what it costs.
var (
	unchanged     = target{atLeast, 0.95}
	unchangedCost = target{atMost, 1.05}
)

func cpu(s sample) float64 { return float64(s.cpu) }

// compareBefore measures creates, reads and lists of an older binary in turns
// with today's, on both engines. Without one there is nothing to compare.
func (b *bench) compareBefore(ctx context.Context) error {
	if b.before == "" {
		return nil
	}
	if err := b.compareOnSQLite(ctx); err != nil {
		return err
	}
	return b.compareOnPostgres(ctx)
}

// version is one of the two binaries, and what its stores are called.
type version struct{ name, binary string }

func (b *bench) versions() []version { return []version{{"now", b.binary}, {"before", b.before}} }

func (b *bench) compareOnSQLite(ctx context.Context) error {
	var creates, reads []side
	for _, v := range b.versions() {
		empty, few := b.dataDir("create-"+v.name), "read-"+v.name
		filled, err := b.fillBy(ctx, v.binary, few, readIDs)
		if err != nil {
			return err
		}
		creates = append(creates, side{v.name, createMessage(), func(ctx context.Context) (*process, error) { return b.startBinary(ctx, v.binary, empty) }})
		reads = append(reads, side{v.name, readMessage(readIDs), func(ctx context.Context) (*process, error) { return b.startBinary(ctx, v.binary, filled) }})
	}
	if err := b.compareSides(ctx, "SQLite", creates, reads); err != nil {
		return err
	}
	return b.compareLists(ctx, "SQLite", func(ctx context.Context, v version) (*process, error) {
		data, err := b.fillBy(ctx, v.binary, "list-"+v.name, listRows)
		if err != nil {
			return nil, err
		}
		return b.startBinary(ctx, v.binary, data)
	})
}

func (b *bench) compareOnPostgres(ctx context.Context) error {
	var creates, reads []side
	for _, v := range b.versions() {
		empty, err := b.makeTablesBy(ctx, v.binary, "create_"+v.name)
		if err != nil {
			return err
		}
		filled, err := b.fillPostgresBy(ctx, v.binary, "read_"+v.name, readIDs)
		if err != nil {
			return err
		}
		creates = append(creates, side{v.name, createMessage(), func(ctx context.Context) (*process, error) {
			return b.startBinaryOnPostgres(ctx, v.binary, "create_"+v.name, empty)
		}})
		reads = append(reads, side{v.name, readMessage(readIDs), func(ctx context.Context) (*process, error) {
			return b.startBinaryOnPostgres(ctx, v.binary, "read_"+v.name, filled)
		}})
	}
	if err := b.compareSides(ctx, "PostgreSQL", creates, reads); err != nil {
		return err
	}
	return b.compareLists(ctx, "PostgreSQL", func(ctx context.Context, v version) (*process, error) {
		url, err := b.fillPostgresBy(ctx, v.binary, "list_"+v.name, listRows)
		if err != nil {
			return nil, err
		}
		return b.startBinaryOnPostgres(ctx, v.binary, "list_"+v.name, url)
	})
}

func (b *bench) compareSides(ctx context.Context, engine string, creates, reads []side) error {
	made, err := b.sideBySide(ctx, shortTurn, creates, 1, manyConns)
	if err != nil {
		return err
	}
	read, err := b.sideBySide(ctx, shortTurn, reads, manyConns)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		what  string
		all   []outcome
		conns int
	}{{"creates", made, 1}, {"creates", made, manyConns}, {"reads of one among 10,000", read, manyConns}} {
		b.results.addPeer(figure{
			name: fmt.Sprintf("%s on %s, %s, of before", c.what, engine, onConns(c.conns)), target: unchanged,
			values: c.all[0].of(c.all[1], c.conns, perSecond), measured: describeAll(c.all, c.conns), durability: "the same on both sides",
		})
		b.results.addPeer(figure{
			name: fmt.Sprintf("server CPU of %s on %s, %s, of before", c.what, engine, onConns(c.conns)), target: unchangedCost,
			values: c.all[0].of(c.all[1], c.conns, cpu), durability: "the same on both sides",
			measured: joined(c.all, func(o outcome) string { return o.name + " " + duration(each(o.samples[c.conns], cpu)) }),
		})
	}
	return nil
}

func (b *bench) compareLists(ctx context.Context, engine string, filled func(context.Context, version) (*process, error)) (err error) {
	var servers []*process
	for _, v := range b.versions() {
		server, startErr := filled(ctx, v)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, server.stop()) }()
		servers = append(servers, server)
	}
	buf := make([]byte, 256<<10)
	for _, model := range []struct{ name, path string }{{"nested", submissionPath}, {"flat", resultPath}} {
		var used [2][]float64 // processor time of each list
		read := func(i int) error {
			begun, err := cpuTime(servers[i].pid())
			if err != nil {
				return err
			}
			if err := readList(ctx, servers[i].addr, model.path, buf); err != nil {
				return err
			}
			ended, err := cpuTime(servers[i].pid())
			used[i] = append(used[i], float64(ended-begun))
			return err
		}
		lists, err := b.listsInTurns(ctx, listRows, func() error { return read(0) }, func() error { return read(1) })
		if err != nil {
			return err
		}
		b.results.addPeer(figure{
			name: fmt.Sprintf("server CPU of a %s list of 100,000 on %s, of before", model.name, engine), target: unchangedCost, durability: noWrites,
			values: []float64{median(used[0]) / median(used[1])}, measured: fmt.Sprintf("now %s, before %s", duration(used[0]), duration(used[1])),
		})
		b.results.addPeer(figure{
			name: fmt.Sprintf("%s list of 100,000 on %s, of before", model.name, engine), target: unchanged, durability: noWrites,
			values: ratios(lists[0], lists[1]), measured: fmt.Sprintf("now %s rows, before %s rows", rate(median(lists[0])), rate(median(lists[1]))),
		})
	}
	return nil
}
