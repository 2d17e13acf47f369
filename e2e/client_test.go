//go:build release

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// TestGeneratedClient generates a client from the OpenAPI document without any
// options, and uses it.
func TestGeneratedClient(t *testing.T) {
	p := start(t, newSite(t))
	module := t.TempDir()
	generate := exec.Command("go", "tool", "-modfile=../tools/go.mod", "oapi-codegen", "../internal/rest/openapi.yaml")
	generate.Stderr = os.Stderr
	code, err := generate.Output()
	if err != nil {
		t.Fatalf("generate a client: %v", err)
	}
	must(t, os.Mkdir(filepath.Join(module, "client"), 0o755))
	testkit.WriteFile(t, filepath.Join(module, "client", "client.go"), string(code))
	for from, to := range map[string]string{
		"testdata/client/main.go.txt": "main.go", "../tools/go.mod": "go.mod", "../tools/go.sum": "go.sum",
	} {
		content, err := os.ReadFile(from)
		must(t, errors.Join(err, os.WriteFile(filepath.Join(module, to), content, 0o600)))
	}
	run := exec.Command("go", "run", ".", p.url)
	run.Dir = module
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("use the client: %v\n%s", err, out)
	}
}
