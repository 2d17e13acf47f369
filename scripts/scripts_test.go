// Package scripts_test holds what the scripts and the Makefile say to people.
package scripts_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// What the tests need is looked for before anything is built.
func TestCheckBeginsWithWhatIsMissing(t *testing.T) {
	t.Setenv("MAKEFLAGS", "") // those of the make that runs the tests
	out, err := exec.Command("make", "-C", "..", "--no-print-directory", "--dry-run", "--jobs=8", "check").Output()
	if err != nil || !strings.HasPrefix(string(out), "scripts/test-deps\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// CI runs the command that README gives developers.
func TestREADMEHasWhatCIRuns(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	testkit.Must(t, err)
	_, developers, _ := strings.Cut(string(readme), "\n## For developers\n")
	command := regexp.MustCompile("`(make [^`]+)`").FindStringSubmatch(developers)
	if command == nil {
		t.Fatalf("no command for developers: %q", developers)
	}
	script, err := os.ReadFile("../.ci/run")
	testkit.Must(t, err)
	var run []string
	for line := range strings.Lines(string(script)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "set ") && !strings.HasPrefix(line, "cd ") {
			run = append(run, line)
		}
	}
	if !slices.Equal(run, command[1:]) {
		t.Errorf(".ci/run runs %q, and README says %q", run, command[1:])
	}
}

// A user other than root is told everything that is missing, and one command.
func TestMissingToolsAreTold(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"bash", "dirname", "uname"} {
		path, err := exec.LookPath(name)
		testkit.Must(t, err)
		testkit.Must(t, os.Symlink(path, filepath.Join(bin, name)))
	}
	for name, line := range map[string]string{"id": "echo 1000", "apt-get": "echo called"} {
		testkit.Must(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+line+"\n"), 0o700))
	}
	for _, release := range []bool{false, true} {
		cmd, advice := exec.Command("./test-deps"), ": sudo scripts/test-deps\n"
		if release {
			cmd, advice = exec.Command("./test-deps", "release"), ": sudo scripts/test-deps release\n"
		}
		cmd.Env = []string{"PATH=" + bin}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "missing here: gcc libc6-dev curl git chromium chromium-headless-shell nodejs npm php-cli") ||
			strings.Contains(string(out), " libreoffice-calc-nogui ") != release || strings.Contains(string(out), " etcd-server ") != release ||
			!strings.HasSuffix(string(out), advice) || strings.Contains(string(out), "called") {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// What comes from npm is installed when it is missing or older than the lock
// file, and never by sudo, which would leave files of root.
func TestNodeModules(t *testing.T) {
	root := t.TempDir()
	lock, installed := filepath.Join(root, "tools/prose/package-lock.json"), filepath.Join(root, "tools/prose/node_modules/.package-lock.json")
	script, err := os.ReadFile("test-deps")
	testkit.Must(t, err)
	testkit.WriteFile(t, filepath.Join(root, "scripts/test-deps"), string(script))
	testkit.Must(t, os.Symlink("/bin/true", filepath.Join(root, "scripts/test-mediawiki")))
	testkit.WriteFile(t, lock, "{}")
	testkit.WriteFile(t, filepath.Join(root, "e2e/browsertest/package-lock.json"), "{}")
	testkit.WriteFile(t, filepath.Join(root, "tools/js/package-lock.json"), "{}")
	bin := t.TempDir()
	stubs := map[string]string{
		"id":  "echo 0",
		"npm": `echo "npm $*"; mkdir -p node_modules; : >node_modules/.package-lock.json`,
	}
	for _, name := range []string{"gcc", "curl", "git", "chromium", "chromium-headless-shell", "node", "php", "mediawiki", "initdb", "unshare", "apt-get"} {
		stubs[name] = "exit 0"
	}
	for name, line := range stubs {
		testkit.Must(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+line+"\n"), 0o700))
	}
	run := func(env ...string) string {
		cmd := exec.Command("bash", filepath.Join(root, "scripts/test-deps"))
		cmd.Env = append([]string{"PATH=" + bin + ":/usr/bin:/bin"}, env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	const install = "npm ci --loglevel=error\n"
	testkit.Same(t, "by sudo", run("SUDO_UID=1000"), "")
	for _, want := range []string{install + install + install, ""} {
		testkit.Same(t, "run()", run(), want)
		setAge(t, lock, time.Hour)
	}
	setAge(t, installed, 2*time.Hour)
	testkit.Same(t, "with a newer lock file", run(), install)
}

func setAge(t *testing.T, path string, age time.Duration) {
	t.Helper()
	testkit.Must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
}

// The advice for a port that is taken is one for make run.
func TestExamplesOnATakenPort(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer func() { _ = taken.Close() }()
	cmd := exec.Command("./run-examples")
	cmd.Env = append(os.Environ(), "ADDR="+taken.Addr().String())
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "choose another port: make run ADDR=127.0.0.1:") || strings.Contains(string(out), "--listen") {
		t.Errorf("%v: %s", err, out)
	}
}
