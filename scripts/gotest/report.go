package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

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

// reporter collects what tests say until their package ends, and prints it.
type reporter struct {
	mu       sync.Mutex
	out      io.Writer
	packages map[string][]*result
	builds   map[string]string // what the compiler said
	failed   []string          // a line for each test
	leftOut  map[string]int    // how many tests, by the reason
}

func newReporter(out io.Writer) *reporter {
	return &reporter{out: out, packages: map[string][]*result{}, builds: map[string]string{}, leftOut: map[string]int{}}
}

// read takes the events of a go test, and prints the packages as they end.
func (r *reporter) read(events io.Reader) error {
	for lines := bufio.NewReader(events); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var e event
		if json.Unmarshal(line, &e) == nil {
			r.take(e)
		} else {
			r.print(string(line))
		}
	}
}

// finish prints the names of the tests that failed, and why others were left out.
// It returns whether there are any of the latter.
func (r *reporter) finish() bool {
	for _, line := range r.failed {
		r.print(line + "\n")
	}
	for _, reason := range slices.Sorted(maps.Keys(r.leftOut)) {
		r.print(fmt.Sprintf("left out %d: %s\n", r.leftOut[reason], reason))
	}
	return len(r.leftOut) > 0
}

func (r *reporter) print(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = io.WriteString(r.out, text)
}

func (r *reporter) take(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case e.Action == "build-output":
		r.builds[e.ImportPath] += e.Output
	case e.Action == "output":
		test := r.result(e)
		test.output = append(test.output, e.Output)
	case e.Action != "pass" && e.Action != "fail" && e.Action != "skip":
	case e.Test == "":
		r.endPackage(e)
		delete(r.packages, e.Package)
	case e.Action == "fail":
		r.result(e).status = e.Action
	default:
		if e.Action == "skip" {
			r.leftOut[reason(r.result(e).output)]++
		}
		r.packages[e.Package] = slices.DeleteFunc(r.packages[e.Package], func(t *result) bool { return t.name == e.Test })
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

// endPackage prints the line of a package, and before it what its tests said
// that did not pass, and what it said itself if it failed.
func (r *reporter) endPackage(e event) {
	_, _ = io.WriteString(r.out, r.builds[e.FailedBuild])
	var own []string
	for _, test := range r.packages[e.Package] {
		if test.name == "" {
			own = test.output
			continue
		}
		r.failed = append(r.failed, fmt.Sprintf("%s: %s %s", test.status, e.Package, test.name))
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

// position is where a test says something.
var position = regexp.MustCompile(`^\s+\S+\.go:\d+: `)

// reason is why a test was skipped.
func reason(output []string) string {
	for _, line := range output {
		if at := position.FindString(line); at != "" {
			return strings.TrimSpace(line[len(at):])
		}
	}
	return "no reason given"
}
