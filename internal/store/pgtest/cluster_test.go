package pgtest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

const childEnv = "FORMULARY_PGTEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	c, err := Start(Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.dir)
	select {}
}

// TestGoneWithTheProcess: a server must not outlive the tests that started it,
// not even when they are killed.
func TestGoneWithTheProcess(t *testing.T) {
	if _, err := findBinaries(); err != nil {
		giveUp(t, err)
	}
	self, err := os.Executable()
	testkit.Must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	dir, err := bufio.NewReader(out).ReadString('\n')
	testkit.Must(t, err)
	dir = strings.TrimSpace(dir)
	testkit.Must(t, testkit.ErrorOf(os.Stat(dir+"/data/postmaster.pid")))
	testkit.Must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		_, err := os.Stat(dir) // which is removed after the server has ended
		if errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there: %v", dir, err)
		}
	}
}
