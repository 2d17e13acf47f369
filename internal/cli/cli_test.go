package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/crypto/bcrypt"

	"github.com/formulary/formulary/internal/auth"
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
	for line := range strings.Lines(usageErrors) {
		columns := strings.Split(strings.TrimSpace(line), " | ") // environment, arguments, standard error
		t.Run(line, func(t *testing.T) {
			if name, value, ok := strings.Cut(columns[0], "="); ok {
				t.Setenv(name, value)
			}
			args := strings.Fields(strings.Replace(columns[1], "serve", "serve --pages none --users none --data none", 1))
			code, said := run(t.Context(), args...)
			if code != 2 || !strings.Contains(said, columns[2]) || !strings.Contains(said, "'formulary "+args[0]+" --help'") {
				t.Errorf("status %d, want 2 with %q:\n%s", code, columns[2], said)
			}
		})
	}
}

const usageErrors = `- | serve --bogus | bogus
- | serve --max-body much | "much" for flag -max-body: use a size such as 500kB, 10MB or 10MiB, or a number of bytes
- | serve --sweep-interval 5months | "5months" for flag -sweep-interval: use a time such as 90s, 15m, 12h or 31d
- | serve --max-connections 1e3 | "1e3" for flag -max-connections: use a whole number, such as 100
- | serve --metrics=maybe | "maybe" for flag -metrics: use yes or no
- | serve --max-bdoy 1 | serve has no flag --max-bdoy: did you mean --max-body?
- | serve --listen 8080 | --listen "8080": use an address such as 127.0.0.1:8080, or :8080 for all interfaces
- | serve --listen localhost: | --listen "localhost:": use an address
- | serve --listen :99999 | --listen ":99999": use an address
- | serve --max-body 0 | --max-body 0: use 1 or more
- | serve --max-file 0 | --max-file 0: use 1 or more
- | serve --max-connections 0 | --max-connections 0: use 1 or more
- | serve --timezone Europe/Berln | --timezone "Europe/Berln": there is no such zone; use a name such as UTC or Europe/Berlin
- | serve --timezone Local | --timezone "Local": there is no such zone
- | serve --language tlh | --language "tlh": use one of en, ar, de, es, fr, it, ja, nl, pl, pt
FORMULARY_MAX_BODY=-1 | serve | --max-body -1: use 1 or more
FORMULARY_MAX_BODY=much | serve | FORMULARY_MAX_BODY "much": use a size
FORMULARY_ACCESS_LOG=maybe | serve | FORMULARY_ACCESS_LOG "maybe": use yes or no
FORMULARY_LOG_LEVEL=loud | serve | --log-level "loud"
- | serve --trusted-proxies 10.0.0.1,proxy | --trusted-proxies "proxy"
- | serve --trusted-proxies ::ffff:10.0.0.0/104 | --trusted-proxies "::ffff:10.0.0.0/104"
- | serve --tls-cert c.pem | --tls-cert and --tls-key
- | serve --tls-key k.pem | --tls-cert and --tls-key
FORMULARY_TLS_KEY=k.pem | serve | --tls-cert and --tls-key
- | serve --database-connections 1 | --database-connections 1: use 2 or more
- | serve --database-timeout 999ms | --database-timeout 999ms: use 1s or more
- | serve --event-retry -1s | --event-retry -1s: use 0s to 720h
- | serve --event-retry 721h | --event-retry 721h0m0s: use 0s to 720h
- | serve --notify-interval 999ms | --notify-interval 999ms: use 1s to 24h
- | serve --notify-interval 25h | --notify-interval 25h0m0s: use 1s to 24h
- | serve --sweep-interval 999ms | --sweep-interval 999ms: use 1s to 24h
- | serve --sweep-interval 25h | --sweep-interval 25h0m0s: use 1s to 24h
- | serve --smtp smtp://host --public-url https://host | --smtp needs --mail-from ADDRESS
FORMULARY_SMTP=smtp://host | serve --mail-from ann@example.org | and --public-url URL
- | serve --base-path /forms/ --public-url https://host/ | --public-url must end with --base-path: add /forms to it
- | hooks | hooks takes a command
- | hooks list --bogus | bogus
- | hooks list | --data DIR
- | hooks list --hooks none | --data DIR
- | hooks test crm | --hooks FILE
- | check --format xml . | --format "xml": use text, json or github
FORMULARY_STRICT=maybe | check . | FORMULARY_STRICT "maybe"
`

// Who has a file or a hook of this name does not get help, and status 0, instead.
func TestNoLeafTakesHelpForItself(t *testing.T) {
	t.Chdir(t.TempDir())
	var leaves [][]string
	var walk func(path []string, commands []*cli.Command)
	walk = func(path []string, commands []*cli.Command) {
		for _, c := range commands {
			path := append(slices.Clone(path), c.Name)
			if walk(path, c.Commands); len(c.Commands) == 0 {
				leaves = append(leaves, path)
			}
		}
	}
	walk(nil, Root(Streams{}).Commands)
	if len(leaves) < 13 {
		t.Errorf("commands: %q", leaves)
	}
	for _, leaf := range leaves {
		for _, word := range []string{"help", "h"} {
			if code, said := run(t.Context(), append(leaf, word)...); code == 0 || strings.Contains(said, "USAGE:") {
				t.Errorf("%q %s: status %d: %s", leaf, word, code, said)
			}
		}
	}
}

// 2 is also a file of the configuration that must be put right first; the help
// has nothing to say about it. What may succeed the next time is 1.
func TestStartFailures(t *testing.T) {
	dir := t.TempDir()
	none, file := filepath.Join(dir, "none"), filepath.Join(dir, "file")
	testkit.WriteFile(t, file, "")
	used, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer func() { _ = used.Close() }()
	for _, tt := range []struct {
		name, flag, value string
		want              int
	}{
		{"no users file", "--users", none, 2},
		{"users are a directory", "--users", dir, 2},
		{"no groups file", "--groups", none, 2},
		{"no hooks file", "--hooks", none, 2},
		{"hooks file without hooks", "--hooks", file, 2},
		{"no pages", "--pages", none, 2},
		{"pages are a file", "--pages", file, 2},
		{"address in use", "--listen", used.Addr().String(), 1},
		{"damaged key", "--anonymous-key", file, 2},
		{"empty stylesheet", "--brand-css", file, 2},
		{"data are a file", "--data", file, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends a server that starts
			defer cancel()
			args := serveArgs(t, tt.flag, tt.value)
			if code, said := run(ctx, args...); code != tt.want || strings.Contains(said, "--help") {
				t.Errorf("status %d, want %d: %s", code, tt.want, said)
			}
			if _, err := os.Stat(args[8]); tt.want == 2 && err == nil {
				t.Error("a store was made")
			}
		})
	}
}

// What can't be used is found before a store is made, or in it. Trying again does not help.
func TestRefusedByTheStore(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends a server that starts
	defer cancel()
	none := filepath.Join(t.TempDir(), "none")
	args := serveArgs(t, "--tls-cert", none, "--tls-key", none)
	code, said := run(ctx, args...)
	if _, err := os.Stat(args[8]); code != 2 || err == nil || !strings.Contains(said, "--tls-cert wants a PEM file") {
		t.Errorf("status %d, store: %v: %s", code, err, said)
	}
	args = args[:9]
	if code, said := run(ctx, append(args, "--listen", "192.0.2.1:1")...); code != 1 {
		t.Fatalf("a store was not made: status %d: %s", code, said)
	}
	testkit.Must(t, os.Remove(filepath.Join(args[8], anonymousKeyFile)))
	if code, said := run(ctx, args...); code != 2 || !strings.Contains(said, "--new-anonymous-key") {
		t.Errorf("status %d: %s", code, said)
	}
}

// A variable that no flag has is told once. Kubernetes sets some.
func TestUnknownVariables(t *testing.T) {
	for _, variable := range os.Environ() { // a test run has some, too
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "FORMULARY_") {
			t.Setenv(name, "") // sets it back at the end
			testkit.Must(t, os.Unsetenv(name))
		}
	}
	for _, name := range []string{"MAX_BODIES", "STRICT", "SERVICE_HOST", "PORT", "PORT_8080_TCP_ADDR", "SMTP_PASSWORD"} {
		t.Setenv("FORMULARY_"+name, "x")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends a server that starts
	defer cancel()
	_, said := run(ctx, serveArgs(t, "--pages", "none")...)
	want := `msg="unknown environment variable" name=FORMULARY_MAX_BODIES did_you_mean=FORMULARY_MAX_BODY`
	if !strings.Contains(said, want) || strings.Count(said, "unknown environment") != 1 {
		t.Errorf("want %s once: %s", want, said)
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
	testkit.Same(t, "status", code, 2)
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

// A mail server that can't be used is told at the start, without its password.
func TestMailFlags(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends a server that starts
	defer cancel()
	for flag, value := range map[string]string{
		"--smtp": "smtp://ann:hunter2@host", "--smtp-password-file": "none", "--mail-from": "ann", "--public-url": "host", "--mail-domains": "*.example.org",
	} {
		t.Run(flag, func(t *testing.T) {
			code, said := run(ctx, serveArgs(t, "--smtp", "smtp://ann@host", "--mail-from", "ann@example.org", "--public-url", "https://host", flag, value)...)
			if code != 2 || strings.Contains(said, "hunter2") || !strings.Contains(said, flag) && !strings.Contains(said, "none") {
				t.Errorf("status %d: %s", code, said)
			}
		})
	}
	if code, said := run(ctx, serveArgs(t, "--mail-domains", "*.example.org")...); code != 2 || !strings.Contains(said, "--mail-domains: ") {
		t.Errorf("without --smtp: status %d: %s", code, said)
	}
}

// A mistake in the hooks file is told with its line, by all commands that read it, and without what is
// in the file. It is the status of a configuration that must be changed first.
func TestBrokenHooksFile(t *testing.T) {
	hooks := filepath.Join(t.TempDir(), "hooks.yaml")
	testkit.WriteFile(t, hooks, "hooks:\n  - name: crm\n    url: https://crm.example/\n    secret: hunter2\n")
	for name, args := range map[string][]string{
		"serve": serveArgs(t, "--hooks", hooks),
		"json":  serveArgs(t, "--hooks", hooks, "--log-format", "json"),
		"list":  {"hooks", "list", "--hooks", hooks, "--data", "none"},
		"retry": {"hooks", "retry", "--hooks", hooks, "--data", "none"},
		"test":  {"hooks", "test", "--hooks", hooks, "crm"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends a server that starts
			defer cancel()
			code, said := run(ctx, args...)
			if code != 2 || !strings.Contains(said, hooks+":4: secret: ") || strings.Contains(said, "hunter2") || strings.Contains(said, "crm.example") {
				t.Errorf("status %d: %s", code, said)
			}
		})
	}
	testkit.WriteFile(t, hooks, "hooks: []\n")
	if code, said := run(t.Context(), "hooks", "test", "--hooks", hooks, "crm"); code != 1 || !strings.Contains(said, `there is no hook "crm"`) {
		t.Errorf("status %d: %s", code, said)
	}
}

// Pages of a directory are read with the users and groups of the server.
func TestUnknownUsersAreLogged(t *testing.T) {
	dir := t.TempDir()
	users, groups := filepath.Join(dir, "users"), filepath.Join(dir, "groups")
	hash, err := bcrypt.GenerateFromPassword([]byte("alice-secret"), 10)
	testkit.Must(t, err)
	testkit.WriteFile(t, users, "alice:"+string(hash)+"\n")
	testkit.WriteFile(t, groups, "hr: alice\n")
	testkit.WriteFile(t, filepath.Join(dir, "1-a.md"), "---\nview: [alice, \"@hr\"]\nedit: [hr]\n---\n")
	var c config
	c.wiki.Address, c.users = dir, auth.Options{UsersFile: users, GroupsFile: groups}
	var log bytes.Buffer
	if _, _, err := openPages(&c, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
		t.Fatal(err)
	}
	if said := log.String(); strings.Count(said, "no user or group") != 1 || !strings.Contains(said, `did you mean \"@hr\"?`) {
		t.Error(said)
	}
}
