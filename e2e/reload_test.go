package e2e

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// SIGHUP reloads users and pages at once: both are in force when the reload is
// logged. It never ends the server, and SIGTERM still does. Without it, an edit of the users applies within two
// seconds; the test allows a busy machine twice as many.
func TestHangUpReloads(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cmd := exec.Command(binary, s.serve()...)
	systemd := listenForNotices(t, cmd)
	p := launch(t, cmd)
	testkit.Same(t, "at the start systemd is told", <-systemd, "READY=1\nSTATUS=Serving "+p.url)
	for i, rename := range []string{"again", "once-more"} {
		p.must(t, 404, "GET", "/"+rename, "")
		testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), strings.ReplaceAll(pageSource, "form: note", "form: "+rename))
		user := "user" + strconv.Itoa(i)
		s.addUser(t, user)
		must(t, p.Cmd.Process.Signal(syscall.SIGHUP))
		testkit.Eventually(t, "the server has reloaded", func() bool {
			return strings.Count(p.output(), `"msg":"reloaded on SIGHUP"`) == i+1
		})
		if r, err := p.callAs(t.Context(), user, "secret", "GET", "/"+rename, ""); err != nil || r.status != 200 {
			t.Errorf("after SIGHUP: %v, %v\n%s", r, err, p.output())
		}
		testkit.Same(t, "at the reload systemd is told", <-systemd+" "+<-systemd, "RELOADING=1 READY=1")
	}
	testkit.WriteFile(t, s.users, "")
	testkit.EventuallyWithin(t, 4*time.Second, "a removed user is out, without a signal", func() bool {
		r, err := p.call(t.Context(), "GET", "/once-more", "")
		return err == nil && r.status == http.StatusUnauthorized
	})
	must(t, p.terminate(t))
	if notice := <-systemd; !strings.HasPrefix(notice, "STOPPING=1\n") {
		t.Errorf("at the end systemd is told %q", notice)
	}
}

// listenForNotices returns what the process will tell systemd, and "" if it has nothing to tell for too long.
func listenForNotices(t *testing.T, cmd *exec.Cmd) <-chan string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "n")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+socket)
	notices := make(chan string, 10)
	go func() {
		defer close(notices)
		for text := make([]byte, 4096); ; {
			_ = conn.SetReadDeadline(time.Now().Add(testkit.WaitLimit))
			n, err := conn.Read(text)
			if err != nil {
				return
			}
			notices <- string(text[:n])
		}
	}()
	return notices
}

// Under nohup, SIGHUP is ignored.
func TestHangUpStaysIgnoredUnderNohup(t *testing.T) {
	args := append([]string{"-c", `trap "" HUP; exec "$0" "$@"`, binary}, newSite(t).serve()...)
	p := launch(t, exec.Command("sh", args...))
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.Cmd.Process.Pid) + "/status")
	must(t, err)
	match := regexp.MustCompile(`SigIgn:\s*([0-9a-f]+)`).FindSubmatch(status)
	if match == nil {
		t.Fatalf("no signals in %s", status)
	}
	if ignored, err := strconv.ParseUint(string(match[1]), 16, 64); err != nil || ignored&(1<<(syscall.SIGHUP-1)) == 0 {
		t.Errorf("SIGHUP is not ignored: %x, %v", ignored, err)
	}
}
