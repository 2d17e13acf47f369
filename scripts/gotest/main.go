// Command gotest runs all tests of the module, as many packages at a time as there
// are cores. It prints one line per package; of tests that failed it prints what
// they said, and nothing of the others. In the end it lists the tests that failed
// and those that were left out. With the variable CI set, leaving out is failing:
// what is not run is not tested.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/formulary/formulary/internal/store/pgtest"
)

// raced are the directories of packages whose goroutines share something. They run
// with the race detector, which makes tests several times slower. sequential are
// packages within them that do one thing after the other. cli and rest are not among
// raced: what their requests and tasks share is in the packages below them.
var (
	raced = []string{
		"internal/auth", "internal/events", "internal/limit", "internal/pages", "internal/request", "internal/server", "internal/service",
		"internal/session", "internal/store", "internal/reload", "internal/wiki",
	}
	sequential = []string{"internal/store/copy", "internal/store/pgtest"}
)

// unraced are the packages that the race detector leaves alone: C libraries,
// translated to Go. With it they are many times slower, and all that they share is
// guarded by the Go packages around them.
var unraced = []string{"github.com/ncruces/go-sqlite3-wasm/...", "modernc.org/..."}

// slow are the packages that take longest, and begin first.
var slow = []string{
	"e2e/browser", "e2e", "internal/store/postgres", "internal/store/sqlite", "internal/events", "internal/service",
	"internal/web/embedtest", "internal/wiki", "internal/rest", "internal/server", "internal/session", "internal/web", "internal/auth",
}

// modules are the directories with a module of their own that has tests.
var modules = []string{"scripts/release"}

// together is how many of the other packages one call of go test has. Each call
// costs a second.
const together = 6

func main() {
	timeout := flag.Duration("timeout", 20*time.Minute, "time limit of a package")
	beside := flag.String("beside", "", "a shell command to run beside the tests")
	flag.Parse()
	if err := run(*timeout, *beside); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

// run runs all tests. Those that share a PostgreSQL get one for all packages.
func run(timeout time.Duration, beside string) error {
	var env []string
	postgres, err := pgtest.Start(pgtest.Options{})
	switch {
	case err == nil:
		defer func() { _ = postgres.Close() }()
		env = append(env, pgtest.Variable+"="+postgres.Dir())
	case !errors.Is(err, pgtest.ErrNotInstalled): // otherwise the tests that need it say so
		return err
	}
	packages, err := list()
	if err != nil {
		return err
	}
	r := newReporter(os.Stdout)
	var jobs []func() error
	if beside != "" {
		jobs = append(jobs, func() error { return shell(beside, r) })
	}
	_, err = exec.LookPath(cmp.Or(os.Getenv("CC"), "gcc"))
	canRace := err == nil
	if !canRace {
		r.leftOut["the race detector, which needs a C compiler"]++
	}
	all := calls(packages)
	for _, dir := range modules {
		all = append(all, call{packages: []string{"."}, dir: dir})
	}
	for _, c := range all {
		c.race = c.race && canRace
		jobs = append(jobs, func() error { return c.run(timeout, env, r) })
	}
	err = atOnce(runtime.NumCPU(), jobs)
	if r.finish() && os.Getenv("CI") != "" {
		err = errors.Join(err, errors.New("tests were left out"))
	}
	return err
}

// atOnce runs jobs in their order, n at a time.
func atOnce(n int, jobs []func() error) error {
	errs := make([]error, len(jobs))
	var running sync.WaitGroup
	free := make(chan struct{}, n)
	for i, job := range jobs {
		free <- struct{}{}
		running.Go(func() {
			errs[i] = job()
			<-free
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// list returns the packages of the module, without its name.
func list() ([]string, error) {
	out, err := exec.Command(goCommand(), "list", "-f", "{{.ImportPath}} {{.Module.Path}}", "./...").Output() //nolint:noctx,gosec // it does not wait for anything; the command is GO or go
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []string
	for line := range strings.Lines(string(out)) {
		name, module, _ := strings.Cut(strings.TrimSpace(line), " ")
		packages = append(packages, strings.TrimPrefix(strings.TrimPrefix(name, module), "/"))
	}
	return packages, nil
}

// call is one call of go test.
type call struct {
	packages []string
	race     bool
	dir      string // of the module; "" for this one
}

// calls are those that test all packages, the slow ones first.
func calls(packages []string) []call {
	var calls []call
	for _, name := range slow {
		if slices.Contains(packages, name) {
			calls = append(calls, call{packages: []string{name}, race: isRaced(name)})
		}
	}
	for _, race := range []bool{true, false} {
		rest := slices.DeleteFunc(slices.Clone(packages), func(name string) bool { return isRaced(name) != race || slices.Contains(slow, name) })
		for part := range slices.Chunk(rest, together) {
			calls = append(calls, call{packages: part, race: race})
		}
	}
	return calls
}

func isRaced(name string) bool {
	within := func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
	return slices.ContainsFunc(raced, within) && !slices.ContainsFunc(sequential, within)
}

func goCommand() string { return cmp.Or(os.Getenv("GO"), "go") }

// run runs go test. The linter runs vet, so that go test need not.
func (c call) run(timeout time.Duration, env []string, r *reporter) error {
	args := []string{"test", "-json", "-trimpath", "-vet=off", "-p=1", "-timeout", timeout.String()} // with -trimpath every clone has the same build cache
	if c.race {
		args = append(args, "-race")
		for _, pattern := range unraced {
			args = append(args, "-gcflags="+pattern+"=-race=false")
		}
		env = append(env[:len(env):len(env)], "CGO_ENABLED=1")
	} else {
		env = append(env[:len(env):len(env)], "CGO_ENABLED=0") // as make build does
	}
	for _, name := range c.packages {
		args = append(args, "./"+path.Clean(name))
	}
	cmd := exec.Command(goCommand(), args...) //nolint:gosec,noctx // the caller chooses both, and ends it by Ctrl-C
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := r.read(events); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go test %s: %w", strings.Join(c.packages, " "), err)
	}
	return nil
}

// shell runs a command, and prints what it says when it fails.
func shell(command string, r *reporter) error {
	began := time.Now()
	out, err := exec.Command("sh", "-c", command).CombinedOutput() //nolint:gosec,noctx // the caller chooses it, and ends it by Ctrl-C
	if err != nil {
		r.print(string(out))
		return fmt.Errorf("%s: %w", command, err)
	}
	r.print(fmt.Sprintf("ok  \t%s\t%.3fs\n", command, time.Since(began).Seconds()))
	return nil
}
