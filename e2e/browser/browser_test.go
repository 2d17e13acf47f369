// Package browser tests the pages of a whole server in a real browser.
package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/browsertest"
	"github.com/formulary/formulary/internal/cli"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Run(m)) }

// serve starts a server with the pages and users of examples/ and an empty store,
// and returns its address. The end of the test stops it.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	const examples = "../../examples/"
	return start(t, append([]string{
		"--pages", examples + "pages", "--users", examples + "users.htpasswd", "--groups", examples + "groups",
	}, args...)...)
}

// start starts a server with an empty store, and returns its address.
func start(t *testing.T, args ...string) string {
	t.Helper()
	args = append([]string{
		"formulary", "serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--data", t.TempDir(),
	}, args...)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	log, write := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- cli.Run(ctx, args, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: write})
		_ = write.Close()
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-done; code != 0 {
			t.Errorf("the server ends with %d", code)
		}
	})
	return readAddress(t, log)
}

// readAddress returns the address that a server logs when it serves. The rest of
// the log is read and dropped.
func readAddress(t *testing.T, log io.Reader) string {
	t.Helper()
	var said strings.Builder
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var line struct{ Msg, URL string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return line.URL
		}
		said.WriteString(lines.Text() + "\n")
	}
	t.Fatalf("the server does not serve:\n%s", &said)
	return ""
}
