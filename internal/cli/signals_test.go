package cli

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// A command that does not serve ends on SIGHUP.
func TestHangUpEndsOtherCommands(t *testing.T) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP) // and not ignored, as it is where the tests run under nohup
	defer signal.Stop(caught)
	ctx, stop := untilSignal(t.Context(), endSignals()...)
	defer stop()
	testkit.Must(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	select {
	case <-ctx.Done():
	case <-time.After(testkit.WaitLimit):
		t.Error("the command goes on")
	}
}

// Reloads run beside each other, and end with their context.
func TestReloadThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		other := make(chan struct{})
		signals := make(chan os.Signal, 1)
		signals <- syscall.SIGHUP
		go func() {
			<-other
			cancel()
		}()
		reloadOn(ctx, signals, slog.New(slog.DiscardHandler),
			func(ctx context.Context) { <-ctx.Done() }, func(context.Context) { close(other) }) // returns, or the test is a deadlock
	})
}
