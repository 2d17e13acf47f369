package e2e

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
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

// One user opens 500 lists and does not read them, and sends three hundred
// bodies and does not finish them. That costs little memory, and other users are
// served as before.
func TestOneUserCantHoldTheMemory(t *testing.T) {
	t.Parallel()
	p := start(t, newSite(t))
	noise := make([]byte, 700_000)
	for i := range noise {
		noise[i] = "0123456789abcdefghijklmnopqrstuvwxyz_-~"[rand.IntN(39)]
	}
	for range 8 {
		p.must(t, 201, "POST", "/note/submission", note(string(noise)))
	}
	served := func() {
		t.Helper()
		for _, c := range []struct {
			status             int
			method, path, body string
		}{
			{200, "GET", "/note/submission", ""},
			{200, "GET", "/note/submission/1", ""},
			{201, "POST", "/kept/submission", note("small")},
			{201, "POST", "/kept/submission", note(string(noise))},
		} {
			r, err := p.callAs(t.Context(), "ben", "secret", c.method, c.path, c.body)
			if err != nil || r.status != c.status {
				t.Fatalf("%s %s by somebody else: %d, %v", c.method, c.path, r.status, err)
			}
		}
	}
	served()
	idle := p.memory(t, "VmRSS")

	lists, readers := p.siege(t, 500, 500, "GET", "/note/submission", "Accept-Encoding: gzip\r\n\r\n")
	if lists[200] != 50 || lists[429] != 450 {
		t.Errorf("lists by status: %v, want 50 of 200 and 450 of 429", lists)
	}
	const size = 1 << 20
	unfinished := fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", size) + strings.Repeat(" ", size-1)
	bodies, senders := p.siege(t, 300, 284, "POST", "/note/submission", unfinished)
	if bodies[0] != 16 || bodies[429] != 284 {
		t.Errorf("bodies by status: %v, want 16 without an answer and 284 of 429", bodies)
	}
	served()
	p.mustHaveStayedSmall(t, idle)

	for _, conn := range append(readers, senders...) {
		_ = conn.Close()
	}
	testkit.Eventually(t, "ann is served again", func() bool {
		list, listErr := p.call(t.Context(), "GET", "/note/submission", "")
		body, bodyErr := p.call(t.Context(), "POST", "/kept/submission", note(string(noise)))
		return listErr == nil && list.status == 200 && bodyErr == nil && body.status == 201
	})
}

// siege sends count requests as ann, on connections that stay open, and reads only
// the status of each answer. It returns how many answers had which status. Once the
// expected number is answered, the others have half a second left, and count as 0.
func (p *process) siege(t *testing.T, count, answered int, method, path, rest string) (statuses map[int]int, conns []net.Conn) {
	t.Helper()
	req, err := request(t.Context(), p.url, method, path, "")
	must(t, err)
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n%s", method, req.URL.Path, req.Header.Get("Authorization"), rest)
	return flood(t, req.URL.Host, text, count, answered)
}

// flood is siege with the text of a request.
func flood(t *testing.T, host, text string, count, answered int) (statuses map[int]int, conns []net.Conn) {
	t.Helper()
	got := make(chan int, count)
	turns := make(chan struct{}, 20) // requests are sent so many at a time
	for range count {
		conn := dialSmall(t, host)
		conns = append(conns, conn)
		turns <- struct{}{}
		go func() {
			_ = conn.SetDeadline(time.Now().Add(testkit.WaitLimit))
			_, _ = conn.Write([]byte(text)) // a refusal may come before the end
			<-turns
			got <- statusOf(conn)
		}()
	}
	statuses = map[int]int{}
	for n := range count {
		if n == answered {
			for _, conn := range conns {
				_ = conn.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
			}
		}
		statuses[<-got]++
	}
	return statuses, conns
}

// dialSmall connects with a small receive buffer, so that little is under way.
func dialSmall(t *testing.T, address string) net.Conn {
	t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if ctlErr := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) }); ctlErr != nil {
			return ctlErr
		}
		return err
	}}
	conn, err := dialer.DialContext(context.Background(), "tcp", address)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// statusOf reads the status of an answer, 0 if there is none in time.
func statusOf(conn net.Conn) int {
	line, _ := bufio.NewReaderSize(conn, 64).ReadString('\n')
	if parts := strings.Fields(line); len(parts) > 1 {
		status, _ := strconv.Atoi(parts[1])
		return status
	}
	return 0
}

// memory reads a figure of the process: VmRSS is what it holds, VmHWM what it
// has held at the most.
func (p *process) memory(t *testing.T, name string) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	must(t, err)
	found := regexp.MustCompile(`(?m)^` + name + `:\s+(\d+) kB$`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("no %s in %s", name, status)
	}
	kib, err := strconv.ParseInt(string(found[1]), 10, 64)
	must(t, err)
	return kib << 10
}

// The unit and the image bring the soft limit of memory, and the process takes it.
func TestMemoryLimitOfDeployments(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"systemd/formulary.service", "systemd/formulary@.service", "docker/Dockerfile"} {
		text, err := os.ReadFile(filepath.Join("../deploy", file))
		must(t, err)
		env := regexp.MustCompile(`\bGOMEMLIMIT=\S+\n`).FindString(string(text))
		cmd := exec.Command(binary, append(newSite(t).serve(), "--metrics")...)
		cmd.Env = append(os.Environ(), strings.TrimSpace(env))
		testkit.Contains(t, file, fetch(t, launch(t, cmd), "/metrics").body, "\ngo_gc_gomemlimit_bytes 1.073741824e+09\n")
	}
}
