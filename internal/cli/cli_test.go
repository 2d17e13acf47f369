package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// run calls the command line. It returns the status, and all that was printed.
func run(ctx context.Context, args ...string) (code int, said string) {
	var out bytes.Buffer
	code = Run(ctx, append([]string{"formulary"}, args...), Streams{In: strings.NewReader(""), Out: &out, Err: &out})
	return code, out.String()
}

// serveArgs are those of a server that starts, and then others: the last one counts.
func serveArgs(t *testing.T, others ...string) []string {
	t.Helper()
	dir := t.TempDir()
	users := filepath.Join(dir, "users")
	testkit.WriteFile(t, users, "")
	return append([]string{"serve", "--listen", "127.0.0.1:0", "--pages", dir, "--users", users, "--data", filepath.Join(dir, "data")}, others...)
}

// 2 is a call that makes no sense, whether by flags or by the environment.
func TestUsageErrorsHaveStatus2(t *testing.T) {
	serve := []string{"serve", "--pages", "none", "--users", "none", "--data", "none"}
	for _, tt := range []struct {
		name, env string // env is NAME=value
		args      []string
		want      string // on standard error
	}{
		{"no such flag", "", []string{"serve", "--bogus"}, "bogus"},
		{"not a number", "", append(serve, "--max-body", "much"), "max-body"},
		{"no body", "", append(serve, "--max-body", "0"), "--max-body 0: use 1 or more"},
		{"no file", "", append(serve, "--max-file", "0"), "--max-file 0: use 1 or more"},
		{"no connections", "", append(serve, "--max-connections", "0"), "--max-connections 0: use 1 or more"},
		{"no zone", "", append(serve, "--timezone", "Europe/Berln"), `--timezone "Europe/Berln": there is no such zone; use a name such as UTC or Europe/Berlin`},
		{"the zone of the machine", "", append(serve, "--timezone", "Local"), `--timezone "Local": there is no such zone`},
		{"no body by environment", "FORMULARY_MAX_BODY=-1", serve, "--max-body -1: use 1 or more"},
		{"not a number by environment", "FORMULARY_MAX_BODY=much", serve, `"FORMULARY_MAX_BODY"`},
		{"not a boolean by environment", "FORMULARY_ACCESS_LOG=maybe", serve, `"FORMULARY_ACCESS_LOG"`},
		{"no such level by environment", "FORMULARY_LOG_LEVEL=loud", serve, `--log-level "loud"`},
		{"no prefix", "", append(serve, "--trusted-proxies", "10.0.0.1,proxy"), `--trusted-proxies "proxy"`},
		{"a prefix that matches nothing", "", append(serve, "--trusted-proxies", "::ffff:10.0.0.0/104"), `--trusted-proxies "::ffff:10.0.0.0/104"`},
		{"certificate only", "", append(serve, "--tls-cert", "c.pem"), "--tls-cert and --tls-key"},
		{"key only", "", append(serve, "--tls-key", "k.pem"), "--tls-cert and --tls-key"},
		{"key only by environment", "FORMULARY_TLS_KEY=k.pem", serve, "--tls-cert and --tls-key"},
		{"no such format", "", []string{"check", "--format", "xml", "."}, `--format "xml": use text, json or github`},
		{"another command", "FORMULARY_STRICT=maybe", []string{"check", "."}, `"FORMULARY_STRICT"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if name, value, ok := strings.Cut(tt.env, "="); ok {
				t.Setenv(name, value)
			}
			code, said := run(t.Context(), tt.args...)
			if code != 2 || !strings.Contains(said, tt.want) || !strings.Contains(said, "'formulary "+tt.args[0]+" --help'") {
				t.Errorf("status %d, want 2 with %q:\n%s", code, tt.want, said)
			}
		})
	}
}

// 2 is also a file of the configuration that must be put right first; the help
// has nothing to say about it. What may succeed the next time is 1.
func TestStartFailures(t *testing.T) {
	dir := t.TempDir()
	none, file := filepath.Join(dir, "none"), filepath.Join(dir, "file")
	testkit.WriteFile(t, file, "")
	used, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = used.Close() }()
	for _, tt := range []struct {
		name, flag, value string
		want              int
	}{
		{"no users file", "--users", none, 2},
		{"users are a directory", "--users", dir, 2},
		{"no groups file", "--groups", none, 2},
		{"no pages", "--pages", none, 2},
		{"pages are a file", "--pages", file, 2},
		{"address in use", "--listen", used.Addr().String(), 1},
		{"data are a file", "--data", file, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends a server that starts
			defer cancel()
			if code, said := run(ctx, serveArgs(t, tt.flag, tt.value)...); code != tt.want || strings.Contains(said, "--help") {
				t.Errorf("status %d, want %d: %s", code, tt.want, said)
			}
		})
	}
}

// writerFunc is an io.Writer.
type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// A database that can't be reached is waited for, and may be there the next time:
// the status is 1, after which systemd tries again.
func TestUnreachableDatabase(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	waits := false
	stderr := writerFunc(func(p []byte) {
		if bytes.Contains(p, []byte("database can't be reached yet")) {
			waits = true
			cancel() // it would wait for 15 seconds
		}
	})
	args := serveArgs(t, "--database", "postgres://127.0.0.1:1/name")
	if code := Run(ctx, append([]string{"formulary"}, args...), Streams{In: strings.NewReader(""), Out: io.Discard, Err: stderr}); code != 1 || !waits {
		t.Errorf("status %d, waits: %t", code, waits)
	}
}

// With a log in JSON the reason is a line of it. A call that makes no sense is
// still told in plain text.
func TestStartFailureInJSON(t *testing.T) {
	code, log := run(t.Context(), serveArgs(t, "--log-format", "json", "--pages", "none")...)
	if code != 2 {
		t.Errorf("status %d, want 2", code)
	}
	var line struct{ Level, Msg, Error string }
	for text := range strings.Lines(log) {
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Errorf("%v: %s", err, text)
		}
	}
	if line.Level != "ERROR" || line.Msg != "the server failed" || !strings.Contains(line.Error, "none: no such file or directory") {
		t.Errorf("the last line is %+v", line)
	}
	if code, out := run(t.Context(), serveArgs(t, "--log-format", "json", "--max-body", "0")...); code != 2 || !strings.HasPrefix(out, "formulary: --max-body 0") {
		t.Errorf("status %d: %s", code, out)
	}
}
