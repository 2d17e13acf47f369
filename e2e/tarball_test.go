package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// A tarball contains no repository. A binary built from it still has its version.
func TestTarballKnowsItsVersion(t *testing.T) {
	t.Setenv("MAKEFLAGS", "") // those of the make that runs the tests
	repository, unpacked := t.TempDir(), t.TempDir()
	for _, name := range []string{"cmd", "internal"} {
		if err := os.CopyFS(filepath.Join(repository, name), os.DirFS("../"+name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".gitattributes", "Makefile", "go.mod", "go.sum"} {
		text, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		testkit.WriteFile(t, filepath.Join(repository, name), string(text))
	}
	cmd := exec.Command("sh", "-euc", `
		git init -q && git add -A
		git -c user.name=x -c user.email=x@example.com commit -qm x && git tag v1.2.3
		git archive -o "$1/x.tar" HEAD
		cd "$1" && tar xf x.tar && make build`, "sh", unpacked)
	cmd.Dir, cmd.Env = repository, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := "formulary v1.2.3 go"
	if revision, err := os.ReadFile("../internal/cli/revision.txt"); err != nil || !strings.HasPrefix(string(revision), "$Format:") {
		want = "formulary " // the test itself runs in a tarball, whose version stays
	}
	out, err := exec.Command(filepath.Join(unpacked, "bin/formulary"), "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("%v: %s", err, out)
	}
}
