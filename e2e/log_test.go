package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/testkit"
)

// startLogging starts a server, and reads its log until it serves. From then on the
// caller reads the log.
func startLogging(t *testing.T, s site, args ...string) (*process, *os.File) {
	t.Helper()
	log, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	p := &process{cmd: exec.Command(binary, append(s.serve(), args...)...), done: make(chan error, 1)}
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

// A log that is no longer read blocks neither requests nor changes of users nor
// the shutdown.
func TestLogThatIsNotRead(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p, _ := startLogging(t, s)
	fillLog(t, p)
	p.must(t, 201, "POST", "/note/submission", note("x"))
	removeUsers(t, s, p)
	if err := p.terminate(t); err != nil {
		t.Errorf("exit: %v", err)
	}
}

// fillLog makes the server log more than a pipe and its own buffer can hold.
func fillLog(t *testing.T, p *process) {
	t.Helper()
	long := "/" + strings.Repeat("x", 400)
	for range 2400 {
		p.must(t, 404, "GET", long, "")
	}
}

// Once the log is read again, the server logs how many lines were lost.
func TestLogThatIsReadAgain(t *testing.T) {
	t.Parallel()
	p, log := startLogging(t, newSite(t))
	fillLog(t, p)
	if err := log.SetReadDeadline(time.Now().Add(testkit.WaitLimit)); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var line struct {
			Level, Msg string
			Lines      int
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && strings.HasPrefix(line.Msg, "lines of the log were lost") {
			if line.Level != "WARN" || line.Lines < 1 || line.Lines > 2400 {
				t.Errorf("reported as %s", lines.Bytes())
			}
			return
		}
	}
	t.Error("the log ended without a report")
}

// A server ends although its database does not answer and its log is not read.
func TestShutdownWithoutDatabaseAndLog(t *testing.T) {
	t.Parallel()
	cluster := pgtest.New(t, pgtest.Options{})
	p, _ := startLogging(t, newSite(t).on(cluster.Database(t)), "--database-timeout", "1m", "--metrics")
	fillLog(t, p)
	p.must(t, 201, "POST", "/note/submission", note("x")) // so that the pool has a connection
	freeze(t, cluster)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = p.call(t.Context(), "POST", "/note/submission", note("x")) // whatever the answer
	}()
	testkit.Eventually(t, "the request is under way", func() bool {
		return strings.Contains(fetch(t, p, "/metrics").body, "formulary_http_requests_in_flight 2\n") // with the request for the metrics
	})
	if err := p.terminate(t); err != nil {
		t.Errorf("exit: %v", err)
	}
	<-answered
}

// freeze stops all processes of a cluster, by SIGSTOP, until the test ends.
func freeze(t *testing.T, c *pgtest.Cluster) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(c.Dir(), "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	postmaster, _, _ := strings.Cut(string(content), "\n")
	children, err := os.ReadFile("/proc/" + postmaster + "/task/" + postmaster + "/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range append([]string{postmaster}, strings.Fields(string(children))...) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	}
}

// A log that is not read does not block a server that can't start.
func TestLogThatIsFull(t *testing.T) {
	t.Parallel()
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
	case <-time.After(testkit.WaitLimit):
		_ = cmd.Process.Kill()
		t.Error("it does not end")
	}
}

// removeUsers empties the users file, and waits until that is in force.
func removeUsers(t *testing.T, s site, p *process) {
	t.Helper()
	testkit.WriteFile(t, s.users, "")
	testkit.Eventually(t, "the user is refused", func() bool {
		r, err := p.call(t.Context(), "GET", "/note", "")
		return err == nil && r.status == 401
	})
}

// Ctrl-C in a shell also ends the program that the log is piped to.
func TestLogThatIsClosed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p, log := startLogging(t, s)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	p.must(t, 201, "POST", "/note/submission", note("x"))
	removeUsers(t, s, p)
	if err := p.terminate(t); err != nil {
		t.Errorf("exit: %v", err)
	}
}
