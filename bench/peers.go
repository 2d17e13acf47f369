package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	peerDurability = "Formulary: every create on disk before its answer; PocketBase by default: some time after it (`synchronous=NORMAL`)"
	bothDurable    = "every create on disk before its answer (WAL, `synchronous=FULL`), on both sides"
)

const peerNotes = `
## How to read what is beside the peers

- Every side takes the same six answers from a user who has to log in. In each round all sides are started anew on the
  data of the round before and take turns: of a second where PocketBase is among them, whose requests may wait for a good
  part of a shorter one, and of at least one list.
- *PocketBase* is v0.39.11, used as a framework the way its documentation does, with its default settings but for the
  log of requests, which is off; Formulary's is on. *Durable* PocketBase is the same with ` + "`synchronous=FULL`" + `.
- Its collection checks what the form checks. In doubt it has the cheaper way: the owner is a text and no relation that
  would have to be looked up, there is no index but that of the id (Formulary keeps another), stored ids ascend, and the
  plug-in for JavaScript, which its released binary starts, is not there.
- Its token is a signed one that is checked on every request, as is that its user exists; Formulary's Basic credentials
  are verified once and then remembered.
- Its lists come in pages of at most 1,000, without a count of the total, asked for one after the other on one
  connection, by key. Formulary's come whole.
- The slow disk is 2 ms of sleep before every ` + "`fsync` and `fdatasync`" + ` of either server, put there by strace, which stops
  no other system call.
- PostgreSQL is a cluster of the run's own on the same machine and disk, with the settings that initdb gives it: every
  commit is synced before it is answered. It shares the two cores with the servers and the generator.
- *Raw pgx* is net/http over a pool of connections: it reads the body, and inserts one row of the same size, or reads
  one. It neither authenticates nor validates nor logs. The raw scan runs within the generator's process, and encodes what
  it reads as the list does, but sends it nowhere.
- *One row per request* is Formulary built with one difference: every create is a statement of its own, on whichever of
  its connections is free.
- Replicas are Formulary processes on one database; the generator spreads its connections over them.
- A table that is all but empty holds 10,000 submissions, because there must be some to read; creates add to both.
  64 connections keep both cores busy, so that the p50 there tells what a request costs in all, and reading anywhere in ten
  million also what it costs to have nothing at hand: 128 MB of buffers hold a fiftieth of them. Read from the latest
  10,000, the two tables differ by their size alone. docs/adr/0012 has what it takes to read anywhere as fast.
`

// connections that creates are measured at.
var connections = []int{1, 16, manyConns}

// peerInterval is shorter than that of the other figures, for there are many:
// ratios between peers are far from their targets, or should be.
func (b *bench) peerInterval() time.Duration { return b.interval * 2 / 3 }

// side is one of the servers that are held beside each other.
type side struct {
	name    string
	message message
	start   func(context.Context) (*process, error)
}

// outcome is what the rounds came to for one side.
type outcome struct {
	name        string
	samples     map[int][]sample // by connections, one per round
	starts      []float64        // nanoseconds to the first answer
	idle, after []float64        // bytes of RSS, before and after the load
}

// sideBySide measures the sides in turns, at each number of connections.
func (b *bench) sideBySide(ctx context.Context, turn time.Duration, sides []side, conns ...int) ([]outcome, error) {
	all := make([]outcome, len(sides))
	for i, s := range sides {
		all[i] = outcome{name: s.name, samples: map[int][]sample{}}
	}
	for round := range b.rounds {
		if err := b.sidesOnce(ctx, round, turn, sides, conns, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// sidesOnce is one round. All sides run all the time, but one works.
func (b *bench) sidesOnce(ctx context.Context, round int, turn time.Duration, sides []side, conns []int, all []outcome) (err error) {
	servers := make([]*process, len(sides))
	for i := range sides {
		server, startErr := sides[i].start(ctx)
		if startErr != nil {
			return fmt.Errorf("%s: %w", sides[i].name, startErr)
		}
		defer func() { err = errors.Join(err, server.stop()) }()
		servers[i] = server
		all[i].starts = append(all[i].starts, float64(server.started))
		if all[i].idle, err = appendRSS(ctx, all[i].idle, server); err != nil {
			return err
		}
	}
	for _, n := range conns {
		loads := make([]*load, len(sides))
		for i, s := range sides {
			loads[i] = newLoad(s.message, n, servers[i])
			loads[i].name = s.name + ": " + s.message.name
		}
		samples, err := measure(ctx, b.peerInterval(), turn, loads...)
		if err != nil {
			return err
		}
		var rates []string
		for i, s := range sides {
			all[i].samples[n] = append(all[i].samples[n], samples[i])
			rates = append(rates, fmt.Sprintf("%s %s", s.name, rate(samples[i].perSecond)))
		}
		progress(round, "%s: %s", onConns(n), strings.Join(rates, ", "))
	}
	for i, server := range servers {
		if all[i].after, err = appendRSS(ctx, all[i].after, server); err != nil {
			return err
		}
	}
	return nil
}

// appendRSS adds how large a server is once it has answered somebody.
func appendRSS(ctx context.Context, sizes []float64, server *process) ([]float64, error) {
	if _, err := once(ctx, server.addr, server.hello); err != nil {
		return nil, err
	}
	size, err := memory(server.pid(), "VmRSS")
	return append(sizes, size), err
}

func perSecond(s sample) float64 { return s.perSecond }
func p50(s sample) float64       { return float64(s.p50) }
func p99(s sample) float64       { return float64(s.p99) }

// of is one side's values as parts of another's, round by round.
func (o outcome) of(other outcome, conns int, value func(sample) float64) []float64 {
	return ratios(each(o.samples[conns], value), each(other.samples[conns], value))
}

// describe gives the medians of one side at a number of connections.
func (o outcome) describe(conns int) string {
	s := o.samples[conns]
	return fmt.Sprintf("%s %s, p50 %s, p99 %s", o.name, rate(median(each(s, perSecond))), duration(each(s, p50)), duration(each(s, p99)))
}

// duration is the median of nanoseconds.
func duration(values []float64) string { return short(time.Duration(median(values))) }

func describeAll(all []outcome, conns int) string {
	return joined(all, func(o outcome) string { return o.describe(conns) })
}

func joined(all []outcome, text func(outcome) string) string {
	var texts []string
	for _, o := range all {
		texts = append(texts, text(o))
	}
	return strings.Join(texts, "; ")
}

// addLoads tells the rates and latencies of all sides.
func (b *bench) addLoads(what string, all []outcome, conns []int, durable string) {
	for _, n := range conns {
		b.results.addPeer(figure{name: what + ", " + onConns(n), durability: durable, measured: describeAll(all, n)})
	}
}

func onConns(n int) string {
	if n == 1 {
		return "1 connection"
	}
	return fmt.Sprintf("%d connections", n)
}

// addSizes tells what the sides take before and after the creates, and how
// long they take to start.
func (b *bench) addSizes(where string, all []outcome, durable string) {
	b.results.addPeer(figure{
		name: "memory (RSS), idle and after the creates" + where, durability: durable,
		measured: joined(all, func(o outcome) string {
			return fmt.Sprintf("%s %s, %s", o.name, mebibytes(median(o.idle)), mebibytes(median(o.after)))
		}),
	})
	b.results.addPeer(figure{
		name: "start of the process to its first answer" + where, durability: "stopped with SIGTERM before; files in the page cache",
		measured: joined(all, func(o outcome) string { return o.name + " " + duration(o.starts) }),
	})
}
