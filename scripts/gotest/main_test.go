package main

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// Every package is tested once, and the race detector is on for shared memory.
func TestCalls(t *testing.T) {
	t.Chdir("../..")
	packages, err := list()
	testkit.Must(t, err)
	tests := map[string]call{}
	for _, c := range calls(packages) {
		// go test does not see changes of files outside of the module: of the binary and of documents.
		if cached := !slices.Contains(c.command(time.Minute).Args, "-count=1"); cached != (c.dir == ".") {
			t.Errorf("%+v: results may come from a cache: %v", c, cached)
		}
		for _, name := range c.packages {
			if _, again := tests[name]; again {
				t.Errorf("%s is tested twice", name)
			}
			tests[name] = c
		}
	}
	testkit.Same(t, "packages of are tested", len(tests), len(packages))
	for name, want := range map[string]call{
		"e2e": {dir: "e2e"}, "e2e/browsertest": {dir: "e2e"}, "scripts/release": {dir: "scripts/release"},
		"internal/forms": {dir: "."}, "internal/request": {dir: ".", race: true}, "internal/rest": {dir: "."},
		"internal/service": {dir: ".", race: true}, "internal/store/sqlite": {dir: ".", race: true}, "internal/web/pagehtml": {dir: "."},
	} {
		if got := tests[name]; got.race != want.race || got.dir != want.dir {
			t.Errorf("%s is tested by %+v, want %+v", name, got, want)
		}
	}
	for _, name := range slices.Concat(raced, sequential, slow) {
		if !slices.Contains(packages, name) {
			t.Errorf("there is no package %s", name)
		}
	}
}

// gotestsum fails if gotest does.
func TestFailureIsPassedOn(t *testing.T) {
	if err := pass(exec.Command("true")); err != nil {
		t.Error(err)
	}
	if err := pass(exec.Command("false")); err == nil {
		t.Error("a command that fails is passed on as a success")
	}
}
