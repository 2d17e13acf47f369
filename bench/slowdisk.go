package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

// syncDelay is what the slow disk adds to every sync.
const syncDelay = 2 * time.Millisecond

// slowDisk is a command that runs another with slower syncs. The program stays
// this process's own child (-D), so that signals reach it and not strace, and
// nothing but syncs stops for strace (--seccomp-bpf).
func slowDisk(binary string, args ...string) []string {
	return append([]string{
		"-f", "-D", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
		"-e", fmt.Sprintf("inject=fsync,fdatasync:delay_enter=%d", syncDelay.Microseconds()), binary,
	}, args...)
}

// peerSlowDisk creates where a sync is dear, as it is on most disks.
func (b *bench) peerSlowDisk(ctx context.Context) error {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return fmt.Errorf("the slow disk needs strace (on Debian: apt-get install strace): %w", err)
	}
	data := b.dataDir("slow-disk")
	peer, err := b.makePocket(ctx, "pocket-slow-disk", 0)
	if err != nil {
		return err
	}
	all, err := b.sideBySide(ctx, longTurn, []side{
		{"Formulary", createMessage(), func(ctx context.Context) (*process, error) {
			return start(ctx, data+".log", strace, slowDisk(b.binary, b.serverArgs("--data", data)...)...)
		}},
		{"durable PocketBase", peer.createMessage(), func(ctx context.Context) (*process, error) {
			return peer.greeted(start(ctx, peer.data+".log", strace, slowDisk(peer.binary, peer.args("--durable")...)...))
		}},
	}, manyConns)
	if err != nil {
		return err
	}
	for _, o := range all {
		if fastest := median(each(o.samples[manyConns], p50)); fastest < float64(syncDelay) {
			return fmt.Errorf("%s answers within %s: its syncs were not delayed", o.name, short(time.Duration(fastest)))
		}
	}
	b.results.addPeer(figure{
		name: "creates on SQLite, 64 connections, 2 ms added to every sync, of durable PocketBase", target: target{atLeast, 20},
		durability: bothDurable, values: all[0].of(all[1], manyConns, perSecond), measured: describeAll(all, manyConns),
	})
	return nil
}
