package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startLogging starts a server whose log is read until it serves, and from
// then on by whoever is given it.
func startLogging(t *testing.T, s site) (*process, *os.File) {
	t.Helper()
	log, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	p := &process{cmd: exec.Command(binary, s.serve()...), done: make(chan error, 1)}
	p.cmd.Stderr = stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = stderr.Close()
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(p.kill)
	for lines := bufio.NewScanner(log); p.url == "" && lines.Scan(); {
		var line struct{ Msg, URL string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			p.url = line.URL
		}
	}
	if p.url == "" {
		t.Fatal("the server ended before it served")
	}
	return p, log
}

// A log that nobody reads any more holds up neither requests nor changes of
// users nor the end.
func TestLogThatIsNotRead(t *testing.T) {
	s := newSite(t)
	p, _ := startLogging(t, s)
	long := "/" + strings.Repeat("x", 400)
	for range 1200 { // more than the pipe and what is held in memory
		p.must(t, 404, "GET", long, "")
	}
	p.must(t, 201, "POST", "/note/submission", note("x"))
	dismissAll(t, s, p)
	if err := p.terminate(t, 10*time.Second); err != nil {
		t.Errorf("exit: %v", err)
	}
}

// Nor does it hold up a server that can't start.
func TestLogThatIsFull(t *testing.T) {
	taken := start(t, newSite(t))
	log, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	defer stderr.Close()
	if err := stderr.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = stderr.WriteString("full")
	}
	cmd := exec.Command(binary, append(newSite(t).serve(), "--listen", strings.TrimPrefix(taken.url, "http://"))...)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("exit: %v", err)
		}
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		t.Error("it does not end")
	}
}

// dismissAll empties the users file, which is logged and then in force.
func dismissAll(t *testing.T, s site, p *process) {
	t.Helper()
	writeFile(t, s.users, "")
	eventually(t, 10*time.Second, "the user is out", func() bool {
		r, err := p.call(t.Context(), "GET", "/note", "")
		return err == nil && r.status == 401
	})
}

// Ctrl-C in a shell also ends the program that the log is piped to.
func TestLogThatIsClosed(t *testing.T) {
	s := newSite(t)
	p, log := startLogging(t, s)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	p.must(t, 201, "POST", "/note/submission", note("x"))
	dismissAll(t, s, p)
	if err := p.terminate(t, 10*time.Second); err != nil {
		t.Errorf("exit: %v", err)
	}
}

// A terminal that is closed ends the server as gently as Ctrl-C does.
func TestHangUp(t *testing.T) {
	p := start(t, newSite(t))
	p.must(t, 201, "POST", "/note/submission", note("x"))
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.done:
		if p.done <- err; err != nil || !strings.Contains(p.output(), `"status":201`) {
			t.Errorf("exit: %v\n%s", err, p.output())
		}
	case <-time.After(10 * time.Second):
		t.Error("it goes on")
	}
}
