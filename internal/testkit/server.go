package testkit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Main runs the tests of a package that starts the binary, and returns the exit status.
// It sets the path of the binary. Such tests wait most of the time, so more tests run
// in parallel than there are cores.
func Main(binary *string, parallel int, run func() int) int {
	if signal.Ignored(syscall.SIGHUP) {
		// The tests run under nohup, and processes inherit ignored signals. They do not
		// inherit caught signals, so a handler here gives SIGHUP back to the servers.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	path, remove, err := Binary()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	*binary = path
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
		panic(err)
	}
	return run()
}

// Server is a formulary that runs as a process. It logs JSON.
type Server struct {
	Cmd *exec.Cmd
	URL string // set by Await

	pipe  io.Closer   // the log's end here
	urls  chan string // closed at the end of the log
	ended chan struct{}
	err   error // of the process that has ended

	mu  sync.Mutex
	log bytes.Buffer
}

// Serve starts a server, and waits until it serves. The end of the test kills it.
func Serve(t testing.TB, cmd *exec.Cmd) *Server {
	t.Helper()
	s := Begin(t, cmd)
	s.Await(t)
	return s
}

// Begin is Serve, but does not wait until the server serves.
func Begin(t testing.TB, cmd *exec.Cmd) *Server {
	t.Helper()
	log, err := cmd.StderrPipe()
	Must(t, err)
	Must(t, cmd.Start())
	s := &Server{Cmd: cmd, pipe: log, urls: make(chan string, 1), ended: make(chan struct{})}
	go func() {
		s.read(log)
		s.err = cmd.Wait()
		close(s.ended)
	}()
	t.Cleanup(s.Kill)
	return s
}

// Await returns when the server serves.
func (s *Server) Await(t testing.TB) {
	t.Helper()
	select {
	case s.URL = <-s.urls:
	case <-time.After(WaitLimit):
		t.Fatalf("the server did not start:\n%s", s.Log())
	}
	if s.URL == "" {
		t.Fatalf("the server ended before it served:\n%s", s.Log())
	}
}

// read collects the log, and sends the URL when the server has logged it.
func (s *Server) read(log io.Reader) {
	defer close(s.urls)
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	serving := false
	for lines.Scan() {
		s.mu.Lock()
		s.log.Write(lines.Bytes())
		s.log.WriteByte('\n')
		s.mu.Unlock()
		var line struct{ Msg, URL string }
		if !serving && json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			serving = true // later lines are not decoded: under load they are many
			s.urls <- line.URL
		}
	}
}

// Log returns the lines that the server has logged so far.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// CloseLog closes the pipe that the server logs to.
func (s *Server) CloseLog() error { return s.pipe.Close() }

// Kill ends the process as a power cut would, and waits until it is gone.
func (s *Server) Kill() {
	_ = s.Cmd.Process.Kill() // it may have ended
	<-s.ended
}

// Terminate ends the process as an operator would, and returns its exit error.
// The server promises to end within ten seconds; the test allows a busy machine
// twice as many.
func (s *Server) Terminate(t testing.TB) error {
	t.Helper()
	Must(t, s.Cmd.Process.Signal(syscall.SIGTERM))
	return s.Wait(t, 20*time.Second)
}

// Wait waits until the process has ended, and returns its exit error.
func (s *Server) Wait(t testing.TB, within time.Duration) error {
	t.Helper()
	select {
	case <-s.ended:
		return s.err
	case <-time.After(within):
		t.Fatalf("the server did not end within %s:\n%s", within, s.Log())
		return nil
	}
}
