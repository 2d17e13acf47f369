package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// The name of a page or a user has no effect on a terminal that shows the log.
func TestLogLinesHoldNoControlCharacters(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		for _, value := range []string{"\x7f", "\u009b31m", "\u061c", "\u202etxt.exe", "\u2066", "\x1b[31m"} {
			var buf bytes.Buffer
			log, err := newLogger(&buf, format, "info")
			testkit.Must(t, err)
			log.Info("a"+value+"b", "key", "a"+value+"b")
			if bytes.Contains(buf.Bytes(), []byte(value)) {
				t.Errorf("%s: %q is in the log: %q", format, value, buf.Bytes())
			}
		}
	}
}

func TestDurationsInJSONAreSeconds(t *testing.T) {
	for format, want := range map[string]string{"text": "timeout=1.5s", "json": `"timeout":1.5}`} {
		var buf bytes.Buffer
		log, err := newLogger(&buf, format, "info")
		testkit.Must(t, err)
		log.Info("late", "timeout", 1500*time.Millisecond)
		if !strings.Contains(buf.String(), want) {
			t.Errorf("%s: %s", format, &buf)
		}
	}
}
