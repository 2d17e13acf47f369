package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"time"
)

// hooks compares creates on a form that has a webhook with creates on a form without one.
func (b *bench) hooks(ctx context.Context) error {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer receiver.Close()
	text := fmt.Sprintf("hooks: [{name: bench, url: %q, secret: %s, allowPrivate: true}]\n", receiver.URL, strings.Repeat("AAAA", 8))
	err := os.WriteFile(b.path("hooks.yaml"), []byte(text), 0o600)
	for _, e := range []engine{sqlite, postgres} {
		none := lane{"no webhook", b.formulary("no webhook", b.binary, e), sendCreates(manyConns), 0.7}
		if err == nil {
			err = b.compare(ctx, comparison{
				title: "creates on " + e.name + " with a webhook, 64 connections", store: e.name + "-hook", durability: e.durability,
				lanes: b.lanesWith([]string{"--hooks", b.path("hooks.yaml")}, e, onlyInTurn(sendCreates(manyConns)), none),
			})
		}
	}
	return err
}

// onlyInTurn stops the server while others have their turn: it would go on to deliver events.
func onlyInTurn(t task) task {
	return func(ctx context.Context, server *process) (runner, func(), error) {
		run, end, err := t(ctx, server)
		return func(ctx context.Context, start, length time.Duration, t *tally) error {
			resumed := server.cmd.Process.Signal(syscall.SIGCONT)
			return errors.Join(resumed, run(ctx, start, length, t), server.cmd.Process.Signal(syscall.SIGSTOP))
		}, func() { _ = server.cmd.Process.Signal(syscall.SIGCONT); end() }, err
	}
}
