// Package browsertest runs tests in a real browser: Debian's chromium, driven by
// the DevTools protocol. A test package calls Run from its TestMain. Its tests
// call Open and act on pages as people do: by roles, accessible names and labels.
package browsertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// Run runs the tests of a package. Afterwards it ends the browser and has
// html-validate read every HTML document that Check has seen. It returns the exit
// code:
//
//	func TestMain(m *testing.M) { os.Exit(browsertest.Run(m)) }
func Run(m *testing.M) int {
	code := m.Run()
	shell.stop()
	full.stop()
	return max(code, report(&documents, os.Stderr))
}

// report writes what is wrong in documents, and returns the exit code.
func report(list *sources, out io.Writer) int {
	problems, err := list.validate(context.Background())
	if err != nil {
		problems = append(problems, err.Error())
	}
	for _, problem := range problems {
		_, _ = fmt.Fprintln(out, problem)
	}
	return min(len(problems), 1)
}

// The browsers of this test binary.
var shell, full = &browser{program: "chromium-headless-shell"}, &browser{program: "chromium"}

// errMissing means that something is not installed.
var errMissing = errors.New("tests in a browser are left out")

// browser is a chromium process. The first test starts it. Each page belongs to
// an incognito context of its own, so tests share no cookies, cache or storage.
type browser struct {
	program string // and the name of its Debian package
	once    sync.Once
	err     error
	ctx     context.Context
	cancel  context.CancelFunc
}

func (b *browser) start() (context.Context, error) {
	b.once.Do(func() { b.err = b.launch() })
	return b.ctx, b.err
}

func (b *browser) launch() error {
	path, err := exec.LookPath(b.program)
	if err != nil {
		return fmt.Errorf("%w: there is no %s: run 'make test-deps', or install it (Debian: apt-get install %[2]s)", errMissing, b.program)
	}
	if _, err := axeSource(); err != nil {
		return fmt.Errorf("%w: there is no axe-core: run 'make test-deps', or 'npm ci' in e2e/browsertest", errMissing)
	}
	// chromedp makes a profile directory for this process and removes it at the
	// end. For root it turns the sandbox off. Shared memory is in the temporary
	// directory, because /dev/shm is small in containers.
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true),
		// Tests that need TLS make their own certificates.
		chromedp.IgnoreCertErrors,
		// Nothing outside of this machine is reachable. Names below .test lead
		// to this machine, for tests that need several sites.
		chromedp.Flag("host-resolver-rules", "MAP *.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
	)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	b.ctx, b.cancel = ctx, func() { cancel(); stop() }
	if err := chromedp.Do(ctx); err != nil { // starts the process
		b.cancel()
		return fmt.Errorf("start %s: %w", b.program, err)
	}
	return nil
}

// stop ends the browser, if one was started, and waits for the end.
func (b *browser) stop() {
	if b.ctx != nil {
		b.cancel()
	}
}
