package main

import (
	"context"
	"errors"
	"fmt"
)

// formularySide is Formulary on SQLite, which makes its file when it is first
// started: that is done here, so that every measured start finds one.
func (b *bench) formularySide(ctx context.Context, data string, m message) (side, error) {
	server, err := b.startServer(ctx, data)
	if err == nil {
		err = server.stop()
	}
	start := func(ctx context.Context) (*process, error) { return b.startServer(ctx, data) }
	return side{"Formulary", m, start}, err
}

// bareSide answers with as many bytes as another side.
func (b *bench) bareSide(ctx context.Context, like side) (side, error) {
	server, err := like.start(ctx)
	if err != nil {
		return side{}, err
	}
	size, err := once(ctx, server.addr, like.message)
	start := func(ctx context.Context) (*process, error) { return b.startBare(ctx, size, size) }
	return side{"bare", like.message, start}, errors.Join(err, server.stop())
}

// peerCreate creates on both settings of PocketBase and on the bare server.
func (b *bench) peerCreate(ctx context.Context) error {
	ours, err := b.formularySide(ctx, b.dataDir("peer-create"), createMessage())
	if err != nil {
		return err
	}
	bare, err := b.bareSide(ctx, ours)
	if err != nil {
		return err
	}
	byDefault, err := b.makePocket(ctx, "pocket-create", 0)
	if err != nil {
		return err
	}
	durable, err := b.makePocket(ctx, "pocket-create-durable", 0)
	if err != nil {
		return err
	}
	all, err := b.sideBySide(ctx, longTurn, []side{
		ours,
		{"PocketBase", byDefault.createMessage(), func(ctx context.Context) (*process, error) { return byDefault.start(ctx) }},
		{"durable PocketBase", durable.createMessage(), func(ctx context.Context) (*process, error) { return durable.start(ctx, "--durable") }},
		bare,
	}, connections...)
	if err != nil {
		return err
	}
	b.addPeerCreates(all)
	return nil
}

func (b *bench) addPeerCreates(all []outcome) {
	b.addLoads("creates on SQLite", all, connections, peerDurability)
	ours := all[0]
	for _, peer := range []struct {
		outcome
		times   float64
		durable string
	}{{all[1], 7, peerDurability}, {all[2], 10, bothDurable}} {
		b.results.addPeer(figure{
			name: "creates on SQLite, 64 connections, of " + peer.name, target: target{atLeast, peer.times}, durability: peer.durable,
			values: ours.of(peer.outcome, manyConns, perSecond), measured: "as above",
		})
		b.results.addPeer(figure{
			name: "their p99, of " + peer.name + "'s", target: target{atMost, 0.2}, durability: peer.durable,
			values: ours.of(peer.outcome, manyConns, p99), measured: "as above",
		})
	}
	b.addSizes("", all, peerDurability)
}

// peerRead reads single submissions. Durability changes nothing about it.
func (b *bench) peerRead(ctx context.Context) error {
	data, err := b.fill(ctx, "peer-read", readIDs)
	if err != nil {
		return err
	}
	ours, err := b.formularySide(ctx, data, readMessage(readIDs))
	if err != nil {
		return err
	}
	bare, err := b.bareSide(ctx, ours)
	if err != nil {
		return err
	}
	peer, err := b.makePocket(ctx, "pocket-read", readIDs)
	if err != nil {
		return err
	}
	all, err := b.sideBySide(ctx, longTurn, []side{
		ours,
		{"PocketBase", peer.readMessage(readIDs), func(ctx context.Context) (*process, error) { return peer.start(ctx) }},
		bare,
	}, manyConns)
	if err != nil {
		return err
	}
	b.results.addPeer(figure{
		name: "reads of one among 10,000 on SQLite, 64 connections, of PocketBase", target: target{atLeast, 6}, durability: noWrites,
		values: all[0].of(all[1], manyConns, perSecond), measured: describeAll(all, manyConns),
	})
	return nil
}

// fewRows is the shorter of the two lists, and what a table holds that is all
// but empty.
const fewRows = 10_000

func (b *bench) peerList(ctx context.Context) error {
	for _, rows := range []int64{fewRows, listRows} {
		if err := b.peerListOf(ctx, rows); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) peerListOf(ctx context.Context, rows int64) (err error) {
	name := fmt.Sprintf("list-%d", rows)
	data, err := b.fill(ctx, "peer-"+name, rows)
	if err != nil {
		return err
	}
	ours, err := b.startServer(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.stop()) }()
	p, err := b.makePocket(ctx, "pocket-"+name, rows)
	if err != nil {
		return err
	}
	peer, err := p.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, peer.stop()) }()
	pages := p.pageRequests(rows)
	_, err = checkList(ctx, ours.addr, submissionPath, rows)
	if err := errors.Join(err, checkPages(ctx, peer.addr, pages, rows)); err != nil {
		return err
	}
	buf := make([]byte, 256<<10)
	lists, err := b.listsInTurns(ctx, rows,
		func() error { return readList(ctx, ours.addr, submissionPath, buf) },
		func() error { return readPages(ctx, peer.addr, pages, buf) })
	if err != nil {
		return err
	}
	b.results.addPeer(figure{
		name: "list of " + grouped(float64(rows)) + " on SQLite, of PocketBase", target: target{atLeast, 12}, durability: noWrites,
		values:   ratios(lists[0], lists[1]),
		measured: fmt.Sprintf("Formulary %s rows; PocketBase %s rows", rate(median(lists[0])), rate(median(lists[1]))),
	})
	return nil
}

// listsInTurns returns rows per second of ours and theirs, per round.
func (b *bench) listsInTurns(ctx context.Context, rows int64, ours, theirs func() error) (rates [2][]float64, err error) {
	for round := range b.rounds {
		samples, err := inTurns(ctx, b.peerInterval()/2, shortTurn, again(rows, ours), again(rows, theirs))
		if err != nil {
			return rates, err
		}
		for i, s := range samples {
			rates[i] = append(rates[i], s.perSecond)
		}
		progress(round, "list of %s: %s rows, the peer %s: %.2f", grouped(float64(rows)), rate(rates[0][round]), rate(rates[1][round]),
			rates[0][round]/rates[1][round])
	}
	return rates, nil
}
