// Formulary serves the forms that stand on wiki pages and keeps the
// submissions that people make to them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/formulary/formulary/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
