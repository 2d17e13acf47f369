//go:build release

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// Two releases of one commit, made in two directories, are equal byte by byte: so are their checksums. In the second
// one, a file that git ignores would change the version, and the user has settings of Go.
func TestTwice(t *testing.T) {
	var sums [2]string
	for i := range sums {
		root := filepath.Join(t.TempDir(), "formulary")
		must(t, clone("../..", root))
		if i == 1 {
			must(t, os.MkdirAll(filepath.Join(root, ".git/info"), 0o700))
			must(t, os.WriteFile(filepath.Join(root, ".git/info/exclude"), []byte("hidden.go\n"), 0o600))
			must(t, os.WriteFile(filepath.Join(root, "internal/cli/hidden.go"), []byte("package cli\n\nfunc init() { version = \"hidden\" }\n"), 0o600))
			settings := filepath.Join(t.TempDir(), "env")
			must(t, os.WriteFile(settings, []byte("GOFIPS140=latest\nGOAMD64=v3\n"), 0o600))
			t.Setenv("GOENV", settings)
		}
		must(t, fromClone(root, "0.1.0", nil))
		data, err := os.ReadFile(filepath.Join(root, "dist/SHA256SUMS"))
		must(t, err)
		sums[i] = string(data)
	}
	testkit.Same(t, "the first: and the second", sums[0], sums[1])
}
