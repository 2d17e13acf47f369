package testkit

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// Daemon is a server program that runs beside tests. Cmd may be changed before Start.
type Daemon struct {
	*exec.Cmd
	Ended chan struct{} // closed when the program has ended

	log   string
	stdin io.Closer
}

// daemonScript runs a program until it ends, or until standard input is closed: by Stop,
// or by the end of the tests, whatever its cause. Then it kills all processes that the program has started.
const daemonScript = `exec 3<&0; { cat <&3 >/dev/null; kill -KILL 0; } & exec "$@" </dev/null 3<&-`

// NewDaemon returns a program that appends what it prints to a log file.
func NewDaemon(log, program string, args ...string) *Daemon {
	args = append([]string{"-c", daemonScript, "sh", program}, args...)
	cmd := exec.Command("/bin/sh", args...) //nolint:noctx,gosec // programs of our tests; Stop ends them
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &Daemon{Cmd: cmd, Ended: make(chan struct{}), log: log}
}

// Start starts the program. It is called once.
func (d *Daemon) Start(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	d.Stdout, d.Stderr = log, log
	if d.stdin, err = d.StdinPipe(); err == nil {
		err = d.Cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = d.Wait()
		close(d.Ended)
	}()
}

// Stop ends the program.
func (d *Daemon) Stop() {
	_ = d.stdin.Close()
	<-d.Ended
}

// Listens reports whether a server listens on an address.
func Listens(address string) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", address)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// FreeAddress returns a loopback address that a server can listen on, unless another
// process is faster.
func FreeAddress(t testing.TB) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
