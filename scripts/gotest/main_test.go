package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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
func TestSkipped(t *testing.T) { t.Skip("no reason") }
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
	t.Setenv("GOFLAGS", "-p=1") // one package after the other

	var out strings.Builder
	if err := test([]string{"./..."}, nil, &out); err == nil {
		t.Error("it succeeds")
	}
	got := regexp.MustCompile(`\d+\.\d+s`).ReplaceAllString(out.String(), "TIME")
	want := `--- FAIL: TestSub (TIME)
    bad_test.go:6: the reason
--- FAIL: TestSub/wrong (TIME)
FAIL	example/bad	TIME
# example/broken [example/broken.test]
broken/broken_test.go:2:12: undefined: missing
FAIL	example/broken [build failed]
last words
FAIL	example/dies	TIME
    good_test.go:4: no reason
--- SKIP: TestSkipped (TIME)
ok  	example/good	TIME
?   	example/none	[no test files]
cannot begin
FAIL	example/unready	TIME
fail: example/bad TestSub
fail: example/bad TestSub/wrong
did not end: example/dies TestExits
skip: example/good TestSkipped
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A skipped test is a failure also where go test succeeds.
func TestSkippedTestFails(t *testing.T) {
	t.Chdir(t.TempDir())
	testkit.WriteFile(t, "go.mod", "module example\n")
	testkit.WriteFile(t, "a_test.go", "package a\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Skip() }\n")
	var out strings.Builder
	if err := test(nil, nil, &out); err == nil || !strings.Contains(out.String(), "skip: example TestA\n") {
		t.Errorf("%v: %s", err, &out)
	}
	testkit.WriteFile(t, "a_test.go", "package a\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Log(1) }\n")
	out.Reset()
	if err := test(nil, nil, &out); err != nil || !regexp.MustCompile(`^ok  \texample\t\S+\n$`).MatchString(out.String()) {
		t.Errorf("%v: %s", err, &out)
	}
}

// Every package is tested, and what shares something with the race detector.
func TestPackages(t *testing.T) {
	t.Chdir("../..")
	plain, race, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/formulary/formulary/"
	for name, want := range map[string][2]bool{
		"internal/forms": {true, false}, "e2e": {true, false}, "internal/store/sqlite": {false, true}, "internal/auth": {false, true}, "internal/rest": {true, true},
	} {
		if got := [2]bool{slices.Contains(plain, module+name), slices.Contains(race, module+name)}; got != want {
			t.Errorf("%s: plain %v, with the race detector %v", name, got[0], got[1])
		}
	}
	for _, dir := range raced {
		if !slices.ContainsFunc(race, func(path string) bool { return strings.HasPrefix(path, module+dir) }) {
			t.Errorf("there is no package in %s", dir)
		}
	}
}
