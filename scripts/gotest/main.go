// Command gotest runs the tests of all modules, with two calls of go test at a time more
// than there are cores. It writes the events of go test -json, which gotestsum reads.
// A command in its arguments runs beside the tests, and counts as a package.
package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/formulary/formulary/internal/store/pgtest"
)

// module is the path of the main module. The path of a package below it is also its
// directory, in every module of the repository.
const module = "github.com/formulary/formulary"

// others are the modules beside the main one that have tests. The tests read files
// outside of their module, which the cache of go test does not watch.
var others = []string{"e2e", "scripts/release"}

// raced are the directories of packages whose goroutines share memory. They run
// with the race detector, which makes tests several times slower. The packages in
// sequential do one task after the other. The requests and tasks of cli and rest share
// memory only in the packages below them, so these two are not in the list.
var (
	raced = []string{
		"internal/auth", "internal/events", "internal/limit", "internal/pages", "internal/request", "internal/server", "internal/service",
		"internal/session", "internal/store", "internal/reload", "internal/wiki",
	}
	sequential = []string{"internal/store/copy", "internal/store/pgtest"}
)

// unraced are C libraries, translated to Go. The race detector would make them many
// times slower. The Go packages around them guard all that they share.
var unraced = []string{"github.com/ncruces/go-sqlite3-wasm/...", "modernc.org/..."}

// slow are the slowest packages. They begin first.
var slow = []string{
	"e2e/browser", "e2e", "internal/store/postgres", "internal/store/sqlite", "internal/events", "internal/service",
	"e2e/embedtest", "internal/wiki", "internal/rest", "internal/server", "internal/session", "internal/web", "internal/auth",
}

// together is the number of other packages in one call of go test. Each call costs
// a second.
const together = 6

func main() {
	timeout := flag.Duration("timeout", 20*time.Minute, "time limit of a package")
	flag.Parse()
	if err := run(*timeout, flag.Args()); err != nil {
		if _, told := errors.AsType[*exec.ExitError](err); !told {
			fmt.Fprintln(os.Stderr, "gotest:", err)
		}
		os.Exit(1)
	}
}

// run runs all tests. They share one PostgreSQL.
func run(timeout time.Duration, beside []string) error {
	packages, err := list()
	if err != nil {
		return err
	}
	postgres, err := pgtest.Start(pgtest.Options{})
	switch {
	case err == nil:
		defer func() { _ = postgres.Close() }()
		if err := os.Setenv(pgtest.Variable, postgres.Dir()); err != nil {
			return err
		}
	case !errors.Is(err, pgtest.ErrNotInstalled): // otherwise the tests that need it say so
		return err
	}
	canRace := true
	if _, err := exec.LookPath(cmp.Or(os.Getenv("CC"), "gcc")); err != nil {
		fmt.Fprintln(os.Stderr, "The race detector is off: it needs a C compiler.")
		if canRace = false; os.Getenv("CI") != "" {
			return err
		}
	}
	var jobs errgroup.Group
	jobs.SetLimit(runtime.NumCPU() + 2) // tests also wait: for disks, browsers and other processes
	if len(beside) > 0 {
		jobs.Go(func() error {
			return pass(goCommand(append([]string{"tool", "test2json", "-t", "-p", strings.Join(beside, " ")}, beside...)...))
		})
	}
	for _, c := range calls(packages) {
		c.race = c.race && canRace
		jobs.Go(func() error { return pass(c.command(timeout)) })
	}
	return jobs.Wait()
}

// list returns the directories of all packages.
func list() ([]string, error) {
	var packages []string
	for _, dir := range append([]string{"."}, others...) {
		out, err := goCommand("list", "-C", dir, "./...").Output()
		if err != nil {
			return nil, fmt.Errorf("go list in %s: %w", dir, err)
		}
		for name := range strings.FieldsSeq(string(out)) {
			packages = append(packages, strings.TrimPrefix(name, module+"/"))
		}
	}
	return packages, nil
}

// call is one call of go test.
type call struct {
	dir      string // of the module
	packages []string
	race     bool
}

// calls returns calls that test every package once, the slow packages first.
func calls(packages []string) []call {
	var calls []call
	for _, name := range slow {
		if slices.Contains(packages, name) { // some are there before a release only
			calls = append(calls, call{moduleOf(name), []string{name}, isRaced(name)})
		}
	}
	for _, c := range []call{{dir: ".", race: true}, {dir: "."}, {dir: "e2e"}, {dir: "scripts/release"}} {
		rest := slices.DeleteFunc(slices.Clone(packages), func(name string) bool {
			return moduleOf(name) != c.dir || isRaced(name) != c.race || slices.Contains(slow, name)
		})
		for part := range slices.Chunk(rest, together) {
			calls = append(calls, call{c.dir, part, c.race})
		}
	}
	return calls
}

func moduleOf(name string) string {
	for _, dir := range others {
		if within(name, dir) {
			return dir
		}
	}
	return "."
}

func isRaced(name string) bool {
	in := func(dir string) bool { return within(name, dir) }
	return slices.ContainsFunc(raced, in) && !slices.ContainsFunc(sequential, in)
}

func within(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// command returns the command of a call. The Makefile sets the flags of all commands.
func (c call) command(timeout time.Duration) *exec.Cmd {
	args := []string{
		"test", "-C", c.dir, "-json", "-p=1", "-timeout", timeout.String(),
		fmt.Sprintf("-parallel=%d", 2*runtime.NumCPU()), // they wait, too
	}
	if c.dir != "." {
		args = append(args, "-count=1")
	}
	if c.race {
		args = append(args, "-race")
		for _, pattern := range unraced {
			args = append(args, "-gcflags="+pattern+"=-race=false")
		}
	}
	for _, name := range c.packages {
		args = append(args, module+"/"+name)
	}
	cmd := goCommand(args...)
	if c.race {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	return cmd
}

func goCommand(args ...string) *exec.Cmd {
	return exec.Command(cmp.Or(os.Getenv("GO"), "go"), args...) //nolint:gosec,noctx // the caller chooses both, and ends it by Ctrl-C
}

var output sync.Mutex

// pass runs a command and passes its output on, in whole lines.
func pass(cmd *exec.Cmd) error {
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for lines := bufio.NewReader(out); err == nil; {
		var line []byte
		line, err = lines.ReadBytes('\n')
		output.Lock()
		_, _ = os.Stdout.Write(line)
		output.Unlock()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(cmd.Wait(), err)
}
