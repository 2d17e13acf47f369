package cli

import (
	"context"
	"reflect"
	"strconv"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/testkit"
)

// parse returns the config that the arguments of serve make.
func parse(t *testing.T, args ...string) *config {
	t.Helper()
	var c config
	serve := &cli.Command{Flags: c.flags(), Action: func(context.Context, *cli.Command) error { return nil }}
	testkit.Must(t, serve.Run(t.Context(), append([]string{"serve", "--pages", "none"}, args...)))
	return &c
}

// Each flag of serve sets a part of the config, which is what the server is made of.
func TestFlagsSetTheConfig(t *testing.T) {
	untouched := parse(t)
	for _, flag := range new(config).flags() {
		name, value := flag.Names()[0], "x"
		switch f := flag.(type) {
		case *cli.BoolFlag:
			value = strconv.FormatBool(!f.Value)
		case *cli.IntFlag, *cli.Int64Flag:
			value = "7"
		case *cli.DurationFlag:
			value = "7s"
		}
		if reflect.DeepEqual(parse(t, "--"+name+"="+value), untouched) {
			t.Errorf("--%s=%s sets nothing", name, value)
		}
	}
}
