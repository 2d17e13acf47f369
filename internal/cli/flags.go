package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/forms"
)

// plain is a flag whose values are read as people write them.
type plain[T, C any, V cli.ValueCreator[T, C]] struct {
	*cli.FlagBase[T, C, V]
	normal func(text string) string // as package cli reads it
	want   string                   // what to write
}

func (f *plain[T, C, V]) Set(name, text string) error {
	if f.FlagBase.Set(name, f.normal(text)) != nil {
		return fmt.Errorf("use %s", f.want)
	}
	return nil
}

// PostParse reads the environment. An empty variable counts as none.
func (f *plain[T, C, V]) PostParse() error {
	variable := variableOf(f.Name)
	text := os.Getenv(variable)
	if f.IsSet() || text == "" {
		return nil
	}
	if err := f.Set(f.Name, text); err != nil {
		return fmt.Errorf("%s %q: %w", variable, text, err)
	}
	return nil
}

func newPlain[T, C any, V cli.ValueCreator[T, C]](
	f *cli.FlagBase[T, C, V], normal func(string) string, want string,
) cli.Flag {
	f.Sources = env(f.Name)
	return &plain[T, C, V]{f, normal, want}
}

var yesNo = strings.NewReplacer("yes", "true", "no", "false", "on", "true", "off", "false")

func boolFlag(name string, to *bool, usage string) cli.Flag {
	return newPlain(&cli.BoolFlag{Name: name, Destination: to, Value: *to, Usage: usage}, func(text string) string {
		return yesNo.Replace(strings.ToLower(text))
	}, "yes or no")
}

func intFlag(name string, to *int, value int, usage string) cli.Flag {
	f := &cli.IntFlag{Name: name, Destination: to, Value: value, Usage: usage}
	return newPlain(f, strings.TrimSpace, "a whole number, such as 100")
}

func sizeFlag(name string, to *int64, value int64, usage string) cli.Flag {
	f := &cli.Int64Flag{Name: name, Destination: to, Value: value, Usage: usage}
	return newPlain(f, func(text string) string {
		if size, ok := forms.ParseSize(text); ok {
			return strconv.FormatInt(size, 10)
		}
		return text
	}, "a size such as 500kB, 10MB or 10MiB, or a number of bytes")
}

// units are tried in this order.
var units = strings.NewReplacer(
	" ", "", "seconds", "s", "second", "s", "minutes", "m", "minute", "m",
	"hours", "h", "hour", "h", "days", "d", "day", "d")

func durationFlag(name string, to *time.Duration, value time.Duration, usage string) cli.Flag {
	f := &cli.DurationFlag{Name: name, Destination: to, Value: value, Usage: usage}
	return newPlain(f, func(text string) string {
		text = units.Replace(text)
		days, _ := strings.CutSuffix(text, "d")
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && days != text {
			return fmt.Sprint(n*24, "h")
		}
		return text
	}, "a time such as 90s, 15m, 12h or 31d")
}
