// Package browser tests the pages of a whole server in a real browser.
package browser

import (
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

// binary is the path of the program under test.
var binary string

func TestMain(m *testing.M) {
	os.Exit(testkit.Main(&binary, runtime.NumCPU()+1, func() int { return browsertest.Run(m) }))
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
	s := testkit.Serve(t, exec.Command(binary, args...))
	var killed atomic.Bool
	t.Cleanup(func() {
		if killed.Load() {
			return
		}
		if err := s.Terminate(t); err != nil {
			t.Errorf("the server ends: %v\n%s", err, s.Log())
		}
	})
	return s.URL, func() { killed.Store(true); s.Kill() }
}
