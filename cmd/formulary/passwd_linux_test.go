package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/formulary/formulary/internal/testkit"
)

// Only on Linux, since every system opens pseudo-terminals in its own way.
func TestCtrlCAtThePasswordPromptRestoresTheEcho(t *testing.T) {
	master, terminal := openTerminal(t)
	users := filepath.Join(t.TempDir(), "users")
	cmd := formulary(t, "passwd", users, "ann")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = terminal, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // so that Ctrl-C is a signal
	if !echoes(t, terminal) {
		t.Fatal("the terminal does not echo to begin with")
	}
	testkit.Must(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the status is looked at below
		close(ended)
	}()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for echoes(t, terminal) {
		select {
		case <-ended:
			t.Fatalf("ended before it asked: %v: %s", cmd.ProcessState, &stderr)
		case <-poll.C:
		}
	}
	if _, err := master.WriteString("half a pass\x03"); err != nil {
		t.Fatal(err)
	}
	<-ended
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("status %d, want 130: %s", code, &stderr)
	}
	if !echoes(t, terminal) {
		t.Error("the echo is still off")
	}
	if _, err := os.Stat(users); !os.IsNotExist(err) {
		t.Errorf("a users file was written: %v", err)
	}
}

func openTerminal(t *testing.T) (master, terminal *os.File) {
	t.Helper()
	master = openFile(t, "/dev/ptmx")
	fd := int(master.Fd())
	testkit.Must(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	testkit.Must(t, err)
	return master, openFile(t, fmt.Sprint("/dev/pts/", n))
}

func openFile(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOCTTY, 0)
	testkit.Must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func echoes(t *testing.T, terminal *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	testkit.Must(t, err)
	return state.Lflag&unix.ECHO != 0
}
