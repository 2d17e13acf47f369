// Package scripts_test holds what the scripts and the Makefile say to people.
package scripts_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What the tests need is looked for before anything is built.
func TestCheckBeginsWithWhatIsMissing(t *testing.T) {
	t.Setenv("MAKEFLAGS", "") // those of the make that runs the tests
	for _, target := range []string{"check", "test"} {
		out, err := exec.Command("make", "-C", "..", "--no-print-directory", "--dry-run", "--jobs=8", target).Output()
		if err != nil || !strings.HasPrefix(string(out), "scripts/test-deps\n") {
			t.Errorf("make %s: %v: %s", target, err, out)
		}
	}
}

// Who is not root is told everything that is missing, and one command.
func TestMissingToolsAreTold(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"bash", "dirname", "uname"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, line := range map[string]string{"id": "echo 1000", "apt-get": "echo called"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+line+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("./test-deps")
	cmd.Env = []string{"PATH=" + bin}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "missing here: gcc libc6-dev curl git") ||
		!strings.HasSuffix(string(out), ": sudo scripts/test-deps\n") || strings.Contains(string(out), "called") {
		t.Errorf("%v: %s", err, out)
	}
}

// The advice for a port that is taken is one for make run.
func TestExamplesOnATakenPort(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	cmd := exec.Command("./run-examples")
	cmd.Env = append(os.Environ(), "ADDR="+taken.Addr().String())
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "choose another port: make run ADDR=127.0.0.1:") || strings.Contains(string(out), "--listen") {
		t.Errorf("%v: %s", err, out)
	}
}
