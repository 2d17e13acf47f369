package e2e

import (
	"fmt"
	"net"
	"net/textproto"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// slowMailServer takes a while for each mail.
type slowMailServer struct {
	addr        string
	connections atomic.Int64

	mu         sync.Mutex
	recipients []string // of the mails that were taken
}

func startSlowMailServer(t *testing.T, perMail time.Duration) *slowMailServer {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s := &slowMailServer{addr: listener.Addr().String()}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.connections.Add(1)
			go s.serve(conn, perMail)
		}
	}()
	return s
}

func (s *slowMailServer) serve(conn net.Conn, perMail time.Duration) {
	client := textproto.NewConn(conn)
	defer func() { _ = client.Close() }()
	answer, to := "220 hello", ""
	for {
		if client.PrintfLine("%s", answer) != nil || answer == "221 bye" {
			return
		}
		line, err := client.ReadLine()
		if err != nil {
			return
		}
		switch command := strings.ToUpper(strings.Fields(line + " -")[0]); command {
		case "RCPT":
			_, to, _ = strings.Cut(strings.TrimSuffix(line, ">"), "<")
			answer = "250 ok"
		case "DATA":
			_ = client.PrintfLine("354 go on")
			_, _ = client.ReadDotBytes()
			time.Sleep(perMail) // as a server that is busy
			s.mu.Lock()
			s.recipients = append(s.recipients, to)
			s.mu.Unlock()
			answer = "250 taken"
		case "QUIT":
			answer = "221 bye"
		default:
			answer = "250 ok"
		}
	}
}

func (s *slowMailServer) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.recipients)
}

// createOn creates a submission on a page, and returns how long that took.
func createOn(t *testing.T, p *process, page int, form string) time.Duration {
	t.Helper()
	req, err := request(t.Context(), p.url, "POST", "/"+form+"/submission", note("x"))
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Path = strings.Replace(req.URL.Path, "/page/1/", fmt.Sprintf("/page/%d/", page), 1)
	begun := time.Now()
	if r, err := do(client, req); err != nil || r.status != 201 {
		t.Fatalf("create on page %d: %v, %d %s", page, err, r.status, r.body)
	}
	return time.Since(begun)
}

// Mails of 100 forms with 20 addresses each hold up neither another form's mail nor writes.
func TestManyMailsHoldUpNoOther(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, s site) {
		const pages, addresses, perMail = 100, 20, 80 * time.Millisecond
		server := startSlowMailServer(t, perMail)
		flags := s.withMail(t, "smtp://"+server.addr, 10*time.Minute)
		for page := 2; page < 2+pages; page++ {
			var to []string
			for i := range addresses {
				to = append(to, fmt.Sprintf("p%d-%d@example.org", page, i))
			}
			testkit.WriteFile(t, filepath.Join(s.pages, fmt.Sprintf("%d.md", page)), fmt.Sprintf(
				"```yaml form\nform: many\nnotify: [%s]\nfields:\n  - {id: text, type: textbox, label: Text}\n```\n", strings.Join(to, ", ")))
		}
		p := start(t, s, flags...)
		median := func() time.Duration {
			var times []time.Duration
			for range 41 {
				times = append(times, createOn(t, p, 1, "note"))
			}
			slices.Sort(times)
			return times[len(times)/2]
		}
		before := median()
		for page := 2; page < 2+pages; page++ {
			createOn(t, p, page, "many")
		}
		testkit.Eventually(t, "mails are being sent", func() bool { return len(server.taken()) > 20 })
		createOn(t, p, 1, "leave")
		begun := time.Now()
		testkit.Eventually(t, "the other mail has come", func() bool { return slices.Contains(server.taken(), "hr@example.org") })
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("the other mail came after %s", took)
		}
		if during := median(); during > 5*before {
			t.Errorf("a create takes %s, and %s while mails are sent", before, during)
		}
		mails := len(server.taken())
		if mails >= pages*addresses*3/4 {
			t.Fatalf("%d mails were sent: the test is too slow to show anything", mails)
		}
		if connections := server.connections.Load(); connections > int64(mails/20+8) {
			t.Errorf("%d connections for %d mails", connections, mails)
		}
	})
}
