//go:build race

package web

import (
	"embed"
	"os/exec"
	"strings"
	"testing"

	_ "modernc.org/quickjs"

	_ "github.com/formulary/formulary/internal/encode"
	_ "github.com/formulary/formulary/internal/forms"
)

// scriptTests and the imports above are what the tests of the scripts are made
// of. go test must not take its result from its cache after a change of them.
//
//go:embed *_test.go testdata
var scriptTests embed.FS

// The race detector makes the JavaScript engine, which is C translated to Go,
// about 40 times slower, and has nothing to find in it: each test uses its
// engine from one goroutine. So the tests of the scripts are built without it.
func TestScriptsWithoutRaceDetector(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "test", "-race=false", "-v", "-run", "^TestScripts", ".")
	output, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: TestScriptsShowTheSameFieldsAsTheServer") {
		t.Fatalf("%v: %v\n%s", command, err, output)
	}
}
