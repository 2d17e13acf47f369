package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/testkit"
)

// formulary is the command in a process of its own, which is this test binary
// under another name (see TestMain).
func formulary(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	testkit.Must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Args[0] = "formulary"
	return cmd
}

// The first SIGTERM waits for a request whose body never comes, the second does
// not.
func TestSecondSignalEndsTheServerAtOnce(t *testing.T) {
	dir := t.TempDir()
	users := filepath.Join(dir, "users")
	testkit.WriteFile(
		t, filepath.Join(dir, "1.md"), "```form\nform: note\nfields:\n  - {id: text, type: textfield, label: Text}\n```\n",
	)
	testkit.Must(t, auth.SetPassword(users, "ann", "a secret"))
	cmd := formulary(t, "serve", "--listen", "127.0.0.1:0", "--pages", dir, "--users", users, "--data", filepath.Join(dir, "data"))
	stderr, err := cmd.StderrPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	log := bufio.NewReader(stderr)
	beginRequest(t, readUntil(t, log, regexp.MustCompile(`msg=serving url=http://([0-9.:]+)`)))
	sendSignal(t, cmd)
	readUntil(t, log, regexp.MustCompile(`msg="(shutting down)"`))

	ended := make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, log)
		ended <- cmd.Wait()
	}()
	// Until the process ends: the trap is taken away beside the shutdown, and a
	// signal may come too early for that.
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case err := <-ended:
			wantSignaled(t, err)
			return
		case <-again.C:
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}
}

// beginRequest sends a request but for its body, and returns when the server
// asks for that.
func beginRequest(t *testing.T, address string) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	testkit.Must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "POST /rest/forms/1.0/page/1/form/note/submission HTTP/1.1\r\nHost: "+address+"\r\n"+
		"Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("ann:a secret"))+"\r\n"+
		"Content-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n")
	testkit.Must(t, err)
	readUntil(t, bufio.NewReader(conn), regexp.MustCompile(`^HTTP/1.1 (100) `))
}

// Nothing but serve has anything to finish, so a signal just ends it.
func TestSignalEndsOtherCommands(t *testing.T) {
	cmd := formulary(t, "passwd", filepath.Join(t.TempDir(), "users"), "ann")
	stdin, err := cmd.StdinPipe()
	testkit.Must(t, err)
	defer func() { _ = stdin.Close() }()
	testkit.Must(t, cmd.Start())
	// More than a pipe holds, so that the command is reading once it is written,
	// and no line's end.
	if _, err := io.WriteString(stdin, strings.Repeat("x", 1<<20)); err != nil {
		t.Fatal(err)
	}
	sendSignal(t, cmd)
	wantSignaled(t, cmd.Wait())
}

// readUntil returns the first group of the first line that matches.
func readUntil(t *testing.T, log *bufio.Reader, want *regexp.Regexp) string {
	t.Helper()
	var read strings.Builder
	for {
		line, err := log.ReadString('\n')
		read.WriteString(line)
		if m := want.FindStringSubmatch(line); m != nil {
			return m[1]
		}
		if err != nil {
			t.Fatalf("no line %s: %v:\n%s", want, err, read.String())
		}
	}
}

// sendSignal sends SIGTERM, as SIGINT is ignored by what a shell has put in the
// background.
func sendSignal(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	testkit.Must(t, cmd.Process.Signal(syscall.SIGTERM))
}

func wantSignaled(t *testing.T, err error) {
	t.Helper()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("got %v, want an end by SIGTERM", err)
	}
	if status := exit.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
		t.Errorf("got %v, want an end by SIGTERM", err)
	}
}
