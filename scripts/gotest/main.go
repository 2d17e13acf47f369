// Command gotest runs all tests of the module, with the flags of go test that it is
// given. It prints one line per package; of tests that failed it prints what they
// said, and nothing of the others. A skipped test is a failure: what is not run is
// not tested.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/store/pgtest"
)

// raced are the packages whose goroutines share something. They run with the race
// detector, which makes tests several times slower.
var raced = []string{
	"internal/auth", "internal/cli", "internal/pages", "internal/request", "internal/rest", "internal/server", "internal/service", "internal/session",
	"internal/store", "internal/reload", "internal/web",
}

// twice are the packages that run without the race detector, too: with it, their
// tests are on PostgreSQL, because it makes SQLite, which is translated code, much
// slower than others.
var twice = []string{"internal/rest", "internal/web"}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

// run runs all tests. Those that share a PostgreSQL get one for all packages.
func run(flags []string, out io.Writer) error {
	var env []string
	postgres, err := pgtest.Start(pgtest.Options{})
	switch {
	case err == nil:
		defer func() { _ = postgres.Close() }()
		env = append(env, pgtest.Variable+"="+postgres.Dir())
	case !errors.Is(err, pgtest.ErrNotInstalled): // otherwise the tests that need it say so
		return err
	}
	plain, race, err := packages()
	if err != nil {
		return err
	}
	flags = append([]string{"-trimpath"}, flags...) // so that every clone has the same build cache
	return errors.Join(
		test(slices.Concat(flags, plain), append(env, "CGO_ENABLED=0"), out), // as make build does
		test(slices.Concat(flags, []string{"-race"}, race), append(env, enginetest.Variable+"="+enginetest.Postgres.Name), out),
	)
}

// packages are those to test without the race detector, and those to test with it.
func packages() (plain, race []string, err error) {
	out, err := exec.Command(goCommand(), "list", "-f", "{{.ImportPath}} {{.Module.Path}}", "./...").Output() //nolint:noctx,gosec // it does not wait for anything; the command is GO or go
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		path, module, _ := strings.Cut(strings.TrimSpace(line), " ")
		within := func(dir string) bool { return strings.HasPrefix(path+"/", module+"/"+dir+"/") }
		isRaced := slices.ContainsFunc(raced, within)
		if isRaced {
			race = append(race, path)
		}
		if !isRaced || slices.ContainsFunc(twice, within) {
			plain = append(plain, path)
		}
	}
	return plain, race, nil
}

func goCommand() string { return cmp.Or(os.Getenv("GO"), "go") }

// test runs go test.
func test(args, env []string, out io.Writer) error {
	cmd := exec.Command(goCommand(), append([]string{"test", "-json"}, args...)...) //nolint:gosec,noctx // the caller chooses both, and ends it by Ctrl-C
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	failed, err := report(events, out)
	if err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	if failed {
		return errors.New("tests were skipped")
	}
	return nil
}

// event is one of go test -json; 'go doc cmd/test2json' and 'go help buildjson'
// describe them.
type event struct {
	Action, Package, Test, Output string
	ImportPath, FailedBuild       string // of what does not compile
}

// result is a test that has not passed, or with an empty name what a package
// says outside of its tests.
type result struct {
	name, status string
	output       []string
}

// reporter collects what tests say until their package ends.
type reporter struct {
	out      io.Writer
	packages map[string][]*result
	builds   map[string]string // what the compiler said
	bad      []string          // a line for each test that failed or was skipped
}

// report prints the packages as they end, and in the end the names of all tests
// that failed or were skipped. It returns whether there are any.
func report(events io.Reader, out io.Writer) (bool, error) {
	r := reporter{out: out, packages: map[string][]*result{}, builds: map[string]string{}}
	for lines := bufio.NewReader(events); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break
		} else if err != nil {
			return false, err
		}
		var e event
		if json.Unmarshal(line, &e) == nil {
			r.take(e)
		} else {
			_, _ = out.Write(line)
		}
	}
	for _, name := range r.bad {
		_, _ = fmt.Fprintln(out, name)
	}
	return len(r.bad) > 0, nil
}

func (r *reporter) take(e event) {
	switch {
	case e.Action == "build-output":
		r.builds[e.ImportPath] += e.Output
	case e.Action == "output":
		test := r.result(e)
		test.output = append(test.output, e.Output)
	case e.Action != "pass" && e.Action != "fail" && e.Action != "skip":
	case e.Test == "":
		r.printPackage(e)
		delete(r.packages, e.Package)
	case e.Action == "pass":
		r.packages[e.Package] = slices.DeleteFunc(r.packages[e.Package], func(t *result) bool { return t.name == e.Test })
	default:
		r.result(e).status = e.Action
	}
}

func (r *reporter) result(e event) *result {
	tests := r.packages[e.Package]
	if i := slices.IndexFunc(tests, func(t *result) bool { return t.name == e.Test }); i >= 0 {
		return tests[i]
	}
	test := &result{name: e.Test, status: "did not end"}
	r.packages[e.Package] = append(tests, test)
	return test
}

// printPackage prints the line of a package, and before it what its tests said
// that did not pass, and what it said itself if it failed.
func (r *reporter) printPackage(e event) {
	_, _ = io.WriteString(r.out, r.builds[e.FailedBuild])
	var own []string
	for _, test := range r.packages[e.Package] {
		if test.name == "" {
			own = test.output
			continue
		}
		r.bad = append(r.bad, fmt.Sprintf("%s: %s %s", test.status, e.Package, test.name))
		for _, line := range test.output {
			if !strings.HasPrefix(line, "=== ") {
				_, _ = io.WriteString(r.out, line)
			}
		}
	}
	for _, line := range own {
		if isSummary(line) || e.Action == "fail" && line != "FAIL\n" {
			_, _ = io.WriteString(r.out, line)
		}
	}
}

func isSummary(line string) bool {
	return strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "FAIL\t") || strings.HasPrefix(line, "?  ")
}
