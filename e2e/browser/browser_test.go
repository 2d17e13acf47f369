// Package browser tests the pages of a whole server in a real browser.
package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

// binary is the path of the program under test.
var binary string

func TestMain(m *testing.M) {
	path, remove, err := testkit.Binary()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = path
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(runtime.NumCPU()+1)); err != nil { // tests wait for much
		panic(err)
	}
	code := browsertest.Run(m)
	remove()
	os.Exit(code)
}

// TestBinary looks at the binary and its variable within a test, so that go test takes
// no results from its cache after either has changed. What TestMain looks at does
// not count for the cache.
func TestBinary(t *testing.T) {
	if path := os.Getenv(testkit.BinaryVariable); path != "" && path != binary {
		t.Errorf("the tests run %s, want %s", binary, path)
	}
	if info, err := os.Stat(binary); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("%s can't be run: %v", binary, err)
	}
}

// serve starts a server with the pages and users of examples/ and an empty store,
// and returns its address. The end of the test stops it.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	const examples = "../../examples/"
	return start(t, append([]string{
		"--pages", examples + "pages", "--users", examples + "users.htpasswd", "--groups", examples + "groups",
	}, args...)...)
}

// start starts a server with an empty store, and returns its address. The end of
// the test stops it.
func start(t *testing.T, args ...string) string {
	t.Helper()
	url, _ := startIn(t, t.TempDir(), args...)
	return url
}

// startIn starts a server with the store of a directory. kill ends it at once, as a
// crash does; else the end of the test stops it.
func startIn(t *testing.T, data string, args ...string) (url string, kill func()) {
	t.Helper()
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--data", data}, args...)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, args...)
	log, err := cmd.StderrPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	url, end := readAddress(log)
	var once sync.Once
	stop := func(signal os.Signal) {
		once.Do(func() {
			_ = cmd.Process.Signal(signal) // it may have ended, which Wait tells
			said := <-end
			if err := cmd.Wait(); err != nil && signal != os.Kill {
				t.Errorf("the server ends: %v\n%s", err, said)
			}
		})
	}
	t.Cleanup(func() { stop(syscall.SIGTERM) })
	if url == "" {
		t.Fatal("the server does not serve")
	}
	return url, func() { stop(os.Kill) }
}

// readAddress returns the address that a server logs when it serves, or "" at the
// end of the log. The channel gets the log when it has ended.
func readAddress(log io.Reader) (url string, end <-chan string) {
	var said strings.Builder
	urls, whole := make(chan string, 1), make(chan string, 1)
	go func() {
		for lines := bufio.NewReader(log); ; {
			text, err := lines.ReadString('\n')
			said.WriteString(text)
			var line struct{ Msg, URL string }
			if json.Unmarshal([]byte(text), &line) == nil && line.Msg == "serving" {
				urls <- line.URL
			}
			if err != nil {
				close(urls)
				whole <- said.String()
				return
			}
		}
	}()
	return <-urls, whole
}
