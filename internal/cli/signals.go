package cli

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// untilSignal returns a context that ends with the first of the signals. From
// then on they do what they do by default, so that a second one ends the
// process at once.
func untilSignal(ctx context.Context, signals ...os.Signal) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// endSignals are the signals that end a command which does not serve.
func endSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // it is ignored under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// catchHangUps returns the SIGHUPs that the process gets; signals that come
// while one waits are dropped. Under nohup SIGHUP stays ignored.
func catchHangUps() (hangUps <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(c, syscall.SIGHUP)
	}
	return c, func() { signal.Stop(c) }
}

// reloadOn calls all reloads beside each other when a signal comes, until ctx
// ends. Reloads end with their context.
func reloadOn(ctx context.Context, signals <-chan os.Signal, log *slog.Logger, reloads ...func(context.Context)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		notify(log, "RELOADING=1")
		var wg sync.WaitGroup
		for _, reload := range reloads {
			wg.Go(func() { reload(ctx) })
		}
		wg.Wait()
		if ctx.Err() == nil {
			notify(log, "READY=1")
			log.Info("reloaded on SIGHUP")
		}
	}
}
