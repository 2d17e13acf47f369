package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// startLogging starts a server, and reads its log until it serves. From then on the
// caller reads the log.
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

// Ctrl-C in a shell also ends the program that the log is piped to.
func TestLogThatIsClosed(t *testing.T) {
	t.Parallel()
	p, log := startLogging(t, newSite(t))
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	p.must(t, 201, "POST", "/note/submission", note("x"))
	if err := p.terminate(t); err != nil {
		t.Errorf("exit: %v", err)
	}
}
