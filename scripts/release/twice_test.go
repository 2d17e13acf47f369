//go:build release

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Two releases of one commit, made in two directories, are equal byte by byte: so are their checksums.
func TestTwice(t *testing.T) {
	var sums [2]string
	for i := range sums {
		root := filepath.Join(t.TempDir(), "formulary")
		_, err := command(".", "git", "clone", "--quiet", "../..", root)
		must(t, err)
		r, err := newRelease(root, "0.1.0")
		must(t, err)
		must(t, r.write(platforms))
		data, err := os.ReadFile(filepath.Join(r.dist, "SHA256SUMS"))
		must(t, err)
		sums[i] = string(data)
	}
	if sums[0] != sums[1] {
		t.Errorf("the first:\n%s\nand the second:\n%s", sums[0], sums[1])
	}
}
