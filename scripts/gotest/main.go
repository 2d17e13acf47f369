// Command gotest is go test with one line per package. Of tests that failed it
// prints what they said, and nothing of the others. A skipped test is a failure:
// what is not run is not tested.
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

	"github.com/formulary/formulary/internal/store/pgtest"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

// run runs go test. Tests that share a PostgreSQL get one for all packages.
func run(args []string, out io.Writer) error {
	postgres, err := pgtest.Start(pgtest.Options{})
	if errors.Is(err, pgtest.ErrNotInstalled) {
		return test(args, nil, out) // the tests that need it will say so
	} else if err != nil {
		return err
	}
	return errors.Join(test(args, []string{pgtest.Variable + "=" + postgres.Dir()}, out), postgres.Close())
}

func test(args, env []string, out io.Writer) error {
	cmd := exec.Command(cmp.Or(os.Getenv("GO"), "go"), append([]string{"test", "-json"}, args...)...) //nolint:gosec,noctx // the caller chooses both, and ends it by Ctrl-C
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
