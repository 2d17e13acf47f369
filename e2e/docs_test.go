package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// The shell lines of docs/api.md work on the examples, one after the other.
func TestDocumentedRequests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 8 {
		t.Fatalf("only %d blocks of shell lines", len(blocks))
	}
	dir := t.TempDir()
	testkit.WriteFile(t, filepath.Join(dir, "scan.pdf"), "%PDF-1.7\n")
	p := launch(t, exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--data", filepath.Join(dir, "data"),
		"--pages", "../examples/pages", "--users", "../examples/users.htpasswd", "--groups", "../examples/groups"))

	script := "set -euo pipefail\ncurl() { command curl -sS --fail-with-body \"$@\"; echo; }\n"
	for _, b := range blocks {
		script += strings.ReplaceAll(b[1], "http://127.0.0.1:8080", p.url) + "\n"
	}
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if copied, err := filepath.Glob(filepath.Join(dir, "*.xlsx")); err != nil || len(copied) != 1 {
		t.Errorf("%v %v", copied, err)
	}
}
