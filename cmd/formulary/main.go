// Formulary serves the forms that stand on wiki pages and keeps the
// submissions that people make to them.
package main

import (
	"context"
	"os"

	"github.com/formulary/formulary/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
