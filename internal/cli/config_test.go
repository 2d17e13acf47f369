package cli

import (
	"context"
	"reflect"
	"strconv"
	"testing"
	"time"

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
		switch v := flag.Get().(type) {
		case bool:
			value = strconv.FormatBool(!v)
		case int, int64:
			value = "7"
		case time.Duration:
			value = "7s"
		}
		if reflect.DeepEqual(parse(t, "--"+name+"="+value), untouched) {
			t.Errorf("--%s=%s sets nothing", name, value)
		}
	}
}

// Values are read as people write them, from flags and from the environment.
func TestValuesOfFlags(t *testing.T) {
	t.Setenv("FORMULARY_MAX_FILE", "2 KiB")
	t.Setenv("FORMULARY_ACCESS_LOG", "off")
	t.Setenv("FORMULARY_MAX_CONNECTIONS", "") // as compose files leave it
	c := parse(t, "--max-body", "1MB", "--metrics=Yes", "--sweep-interval", "2 hours", "--event-retry=31d", "--notify-interval", "1 hour 30 minutes")
	if one := parse(t, "--notify-interval", "1 minute", "--sweep-interval", "1 second"); one.events.NotifyInterval != time.Minute || one.sweepInterval != time.Second {
		t.Errorf("%+v", one)
	}
	if c.maxBody != 1e6 || c.maxFile != 2048 || !c.metrics || c.accessLog || c.server.MaxConnections != 10_000 ||
		c.sweepInterval != 2*time.Hour || c.events.Retry != 31*24*time.Hour || c.events.NotifyInterval != 90*time.Minute {
		t.Errorf("%+v", c)
	}
}
