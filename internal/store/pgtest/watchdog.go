package pgtest

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// watchdog is a process that ends a cluster and removes its files as soon as
// the test process lets go of a pipe, which it does at the latest when it ends:
// by itself, by a panic or by a signal that it can't handle.
type watchdog struct {
	cmd  *exec.Cmd
	pipe io.Closer
}

// script reads from the pipe until it is closed. The first line of
// postmaster.pid is the server's process; SIGQUIT ends it at once.
const script = `cat >/dev/null
pid=$(head -n 1 "$1/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
	kill -QUIT "$pid"
	while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
fi
rm -rf "$2"`

func watch(data, dir string) (*watchdog, error) {
	cmd := exec.Command("/bin/sh", "-c", script, "sh", data, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the tests
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &watchdog{cmd, pipe}, nil
}

// release closes the pipe, and waits for the process to end.
func (w *watchdog) release() error {
	if err := errors.Join(w.pipe.Close(), w.cmd.Wait()); err != nil {
		return fmt.Errorf("remove the cluster: %w", err)
	}
	return nil
}
