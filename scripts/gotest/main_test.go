package main

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/testkit"
)

// Of a module with every kind of failure, what is printed is what explains them.
func TestFailedTestsAlonePrintTheirLines(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module example\n",
		"none/n.go": "package none\n",
		"good/good_test.go": `package good
import "testing"
func TestLoud(t *testing.T)    { t.Log("noise"); println("noise") }
func TestSkipped(t *testing.T) { t.Skip("no such program") }
func TestPartly(t *testing.T)  { t.Run("a", TestSkipped); t.Run("b", TestLoud) }
`,
		"bad/bad_test.go": `package bad
import "testing"
func TestLoud(t *testing.T) { t.Log("noise"); println("noise") }
func TestSub(t *testing.T) {
	t.Run("fine", func(t *testing.T) { t.Parallel(); t.Log("noise") })
	t.Run("wrong", func(t *testing.T) { t.Parallel(); t.Error("the reason") })
}
`,
		"broken/broken_test.go": "package broken\nfunc f() { missing() }\n",
		"dies/dies_test.go": `package dies
import (
	"os"
	"testing"
)
func TestLoud(t *testing.T)  { t.Log("noise") }
func TestExits(t *testing.T) { println("last words"); os.Exit(3) }
`,
		"unready/unready_test.go": `package unready
import (
	"os"
	"testing"
)
func TestMain(*testing.M) { println("cannot begin"); os.Exit(1) }
`,
	} {
		testkit.WriteFile(t, filepath.Join(dir, name), text)
	}
	t.Chdir(dir)
	var out strings.Builder
	r := newReporter(&out)
	if err := (call{packages: []string{"..."}}).run(time.Minute, nil, r); err == nil {
		t.Error("it succeeds")
	}
	if !r.finish() {
		t.Error("nothing was left out")
	}
	got := regexp.MustCompile(`\d+\.\d+s|\(cached\)`).ReplaceAllString(out.String(), "TIME")
	want := `--- FAIL: TestSub (TIME)
    bad_test.go:6: the reason
--- FAIL: TestSub/wrong (TIME)
FAIL	example/bad	TIME
# example/broken [example/broken.test]
broken/broken_test.go:2:12: undefined: missing
FAIL	example/broken [build failed]
last words
FAIL	example/dies	TIME
ok  	example/good	TIME
?   	example/none	[no test files]
cannot begin
FAIL	example/unready	TIME
fail: example/bad TestSub
fail: example/bad TestSub/wrong
did not end: example/dies TestExits
left out 2: no such program
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every package is tested once, and what shares something with the race detector.
func TestCalls(t *testing.T) {
	t.Chdir("../..")
	packages, err := list()
	if err != nil {
		t.Fatal(err)
	}
	race := map[string]bool{}
	for _, c := range calls(packages) {
		for _, name := range c.packages {
			if _, again := race[name]; again {
				t.Errorf("%s is tested twice", name)
			}
			race[name] = c.race
		}
	}
	if len(race) != len(packages) {
		t.Errorf("%d packages of %d are tested", len(race), len(packages))
	}
	for name, want := range map[string]bool{
		"e2e": false, "internal/forms": false, "internal/request": true, "internal/rest": false,
		"internal/service": true, "internal/store/sqlite": true, "internal/web/pagehtml": false,
	} {
		if race[name] != want {
			t.Errorf("%s: the race detector is on: %v", name, race[name])
		}
	}
	for _, name := range slices.Concat(raced, sequential, slow) {
		if !slices.Contains(packages, name) {
			t.Errorf("there is no package %s", name)
		}
	}
}

// Two jobs run at a time, and one that fails stops no other.
func TestAtOnce(t *testing.T) {
	meet := make(chan struct{})
	var running atomic.Int32
	job := func(f func()) func() error {
		return func() error {
			if running.Add(1) > 2 {
				t.Error("three run at a time")
			}
			defer running.Add(-1)
			f()
			return errors.New("failed")
		}
	}
	jobs := []func() error{job(func() { meet <- struct{}{} }), job(func() { <-meet }), job(func() {}), job(func() {})}
	if err := atOnce(2, jobs); err == nil || err.Error() != "failed\nfailed\nfailed\nfailed" {
		t.Error(err)
	}
}
