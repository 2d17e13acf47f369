package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

const multipartType = "multipart/form-data; boundary=b"

// hostileHeaders are bodies with a header of a part that is large, or takes long to parse.
func hostileHeaders() []string {
	part := func(header string) string { return "--b\r\n" + header + "\r\n\r\nx\r\n--b--\r\n" }
	parameters := func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, ";%x=1", i)
		}
		return b.String()
	}
	return []string{
		part(`Content-Disposition: form-data; name="text"` + parameters(10_000_000)),
		part(`Content-Disposition: form-data; name="text"` + parameters(15<<10)),
		part("Content-Disposition: form-data; name=text\r\nContent-Type: text/plain" + parameters(14<<10)),
		part("Content-Disposition: form-data; name=text\r\n" + strings.Repeat("a: b\r\n", 1_000_000) + "c: d"),
	}
}

// Bodies that are sent to pages again and again take little memory, and keep nobody from sending. Some come without
// credentials. One user has the others read on the author's page.
func TestPagesUnderAttack(t *testing.T) {
	const size = 256 << 10
	expired, fields := url.Values{}, strings.Builder{}
	for i := range 500 {
		expired.Set(fmt.Sprintf("f%03d", i), strings.Repeat("<", 124))
	}
	fields.WriteString("form: a\nfields:\n")
	for i := range 1000 {
		fmt.Fprintf(&fields, "  - {id: f%d, type: radio, label: %s, options: [%sa]}\n",
			i, strings.Repeat("l", 50), strings.Repeat("<, ", 30))
	}
	comments := "form: a\nfields:\n" + strings.Repeat("#\n", size/2-20)
	text := func(text string) []string { return []string{text} }
	const form, author = "/page/1/form/note", "/author"
	for name, attack := range map[string]struct {
		path        string
		connections int
		bodies      []string
		statuses    []int // beside 429
	}{
		"headers of parts":           {form, 6, hostileHeaders(), []int{413}},
		"headers of parts of a text": {author, 6, hostileHeaders(), []int{413}},
		"forms of expired sessions":  {form, 8, []string{multipartOf(expired)}, []int{403}},
		"brackets":                   {author, 50, text(strings.Repeat("[", size)), []int{200, 503}},
		"fields":                     {author, 50, text(fields.String()), []int{200, 503}},
		"comments":                   {author, 50, text(comments), []int{200, 503}},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, newSite(t))
			p.must(t, 201, "POST", "/kept/submission", note("first"))
			cookie := ""
			if attack.path == author {
				cookie = p.signIn(t, "ann")
			}
			if attack.connections == 50 {
				attack.bodies[0] = multipartOf(url.Values{"text": attack.bodies, "_for": {p.madeFor(t, cookie)}})
			}
			idle := p.memory(t, "VmRSS")
			p.mustServeOthers(t, attack.connections, func(ctx context.Context, n int) {
				body := attack.bodies[n%len(attack.bodies)]
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+attack.path, strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				if n%3 > 0 {
					req.ContentLength = -1 // it comes in chunks, so that it is not refused by its length
				}
				req.Header.Set("Content-Type", multipartType)
				if cookie != "" {
					req.Header.Set("Cookie", cookie)
				}
				r, err := do(client, req)
				if err == nil && r.status != http.StatusTooManyRequests && !slices.Contains(attack.statuses, r.status) {
					t.Errorf("a body of %d bytes: status %d", len(body), r.status)
				}
			})
			p.mustHaveStayedSmall(t, idle)
		})
	}
}

// madeFor is the user of a page, which a POST of the author's page names.
func (p *process) madeFor(t *testing.T, cookie string) string {
	t.Helper()
	r, err := p.get(t.Context(), client, "/author", cookie)
	testkit.Must(t, err)
	_, after, _ := strings.Cut(r.body, `name="_for" value="`)
	value, _, _ := strings.Cut(after, `"`)
	return value
}

// mustHaveStayedSmall fails the test if the server has ever had more than 256 MiB
// beyond what it had when it was idle.
func (p *process) mustHaveStayedSmall(t *testing.T, idle int64) {
	t.Helper()
	peak := p.memory(t, "VmHWM")
	t.Logf("%d MiB idle, %d MiB at the most", idle>>20, peak>>20)
	if peak-idle > 256<<20 {
		t.Errorf("%d MiB more than idle, want at most 256", (peak-idle)>>20)
	}
}

// Slow senders without credentials use up the slots of their own address only, and
// for 30 seconds at most.
func TestSlowExpiredFormsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	p := start(t, newSite(t))
	host := strings.TrimPrefix(p.url, "http://")
	body := multipartOf(url.Values{"text": {"long work"}})
	send := func(from string, length int, sent string) (net.Conn, error) {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := dialer.DialContext(t.Context(), "tcp", host)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(50 * time.Second))
		const request = "POST /page/1/form/note HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"
		_, err = fmt.Fprintf(conn, request, multipartType, length, sent)
		return conn, err
	}
	const slots = 4
	statuses := map[int]int{}
	got := make(chan int, 16)
	for range cap(got) {
		conn, err := send("127.0.0.1", len(body), body[:len(body)-1])
		must(t, err)
		go func() { got <- statusOf(conn) }()
	}
	for range cap(got) - slots {
		statuses[<-got]++
	}
	conn, err := send("127.0.0.2", len(body), body)
	must(t, err)
	testkit.Same(t, "from another address: status", statusOf(conn), http.StatusForbidden)
	// What is too large is refused before it is sent.
	if conn, err = send("127.0.0.2", 2<<30, ""); err != nil {
		t.Fatal(err)
	}
	testkit.Same(t, "2 GiB: status", statusOf(conn), http.StatusRequestEntityTooLarge)
	for range slots {
		statuses[<-got]++
	}
	if statuses[http.StatusTooManyRequests] != cap(got)-slots || statuses[http.StatusRequestTimeout] != slots {
		t.Errorf("slow senders by status: %v, want 408 for %d and 429 for the others", statuses, slots)
	}
}

// The largest pages that are hard to parse take little memory, in the server and in
// the command check, and keep nobody from sending.
func TestLargestPagesExhaustNothing(t *testing.T) {
	s := newSite(t)
	units := []string{"[", "![", "<", "*a_", "[a](", "http://a.b ", "[\n", "# a\n", "- a\n", "> a\n\n", "~~~ form\na\n~~~\n"}
	write := func(page, unit, form string) string {
		path := filepath.Join(s.pages, page+".md")
		head := fmt.Sprintf("```form\nform: %s\nfields: [{id: x, type: date}]\n```\n", form)
		testkit.WriteFile(t, path, head+strings.Repeat(unit, (4<<20-len(head))/max(1, len(unit))))
		return path
	}
	write("99", "", "before")
	p := start(t, s)
	p.must(t, 201, "POST", "/kept/submission", note("first"))
	cookie, idle := p.signIn(t, "ann"), p.memory(t, "VmRSS")
	for i, unit := range units {
		write(strconv.Itoa(10+i), unit, "large")
	}
	write("99", "", "after")
	testkit.EventuallyWithin(t, 3*testkit.WaitLimit, "all are read", func() bool {
		p.mustCreate(t, 1)
		r, err := p.get(t.Context(), client, "/page/99", cookie)
		return err == nil && strings.Contains(r.body, "/page/99/form/after")
	})
	p.mustHaveStayedSmall(t, idle)

	check := func(unit string) int64 {
		cmd := exec.Command(binary, "check", write("98", unit, "large"))
		_ = cmd.Run() // there are warnings
		return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	}
	plain := check("x")
	for _, unit := range units {
		if used := check(unit); used > plain+200<<20 || !strings.Contains(unit, "\n") && used > plain+64<<20 {
			t.Errorf("check of a page of %q takes %d MiB, and %d of a page of letters", unit, used>>20, plain>>20)
		}
	}
}
