package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// docBlocks are the code blocks of a page of docs/ in a language.
func docBlocks(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/" + page)
	must(t, err)
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// docBlock is the one block that begins with a text, with other values in it.
func docBlock(t *testing.T, page, language, begin string, changes ...string) string {
	t.Helper()
	blocks := slices.DeleteFunc(docBlocks(t, page, language), func(b string) bool { return !strings.HasPrefix(b, begin) })
	if len(blocks) != 1 {
		t.Fatalf("%d %s blocks begin with %q", len(blocks), language, begin)
	}
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(blocks[0], changes[i]) {
			t.Fatalf("the block that begins with %q has no %q", begin, changes[i])
		}
	}
	return strings.NewReplacer(changes...).Replace(blocks[0])
}

// runBeside runs a program until the test ends.
func runBeside(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // for what a shell starts
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", cmd.Path, &out)
		}
	})
}

func awaitListener(t *testing.T, address string) {
	t.Helper()
	testkit.Eventually(t, address+" listens", func() bool {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// The shell lines of docs/api.md work on the examples, one after the other.
func TestDocumentedRequests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/api.md")
	must(t, err)
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
