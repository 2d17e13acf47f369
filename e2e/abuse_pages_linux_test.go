package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// postPage sends a form of a page. Without a length, the body is sent in chunks.
// An error means that there was no complete answer.
func (p *process) postPage(ctx context.Context, path, cookie, contentType string, body io.Reader, length int64) (response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+path, body)
	if err != nil {
		return response{}, err
	}
	req.ContentLength = length
	req.Header.Set("Content-Type", contentType)
	if cookie != "" {
		req.Header.Set("Cookie", cookie)
	}
	return do(client, req)
}

// multipartForm is a body with texts, by turns name and value.
func multipartForm(t *testing.T, namesAndValues ...string) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(namesAndValues); i += 2 {
		must(t, w.WriteField(namesAndValues[i], namesAndValues[i+1]))
	}
	must(t, w.Close())
	return b.Bytes(), w.FormDataContentType()
}

// A header of a part that is large, or takes long to parse, is refused without
// credentials, on the author's page and in the API alike.
func TestPartHeadersExhaustNothing(t *testing.T) {
	p := start(t, newSite(t))
	p.must(t, 201, "POST", "/kept/submission", note("first"))
	cookie := p.signIn(t, "ann")
	idle := p.memory(t, "VmRSS")
	const contentType = "multipart/form-data; boundary=b"
	part := func(header string) string { return "--b\r\n" + header + "\r\n\r\nx\r\n--b--\r\n" }
	parameters := func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, ";%x=1", i)
		}
		return b.String()
	}
	bodies := []string{
		part(`Content-Disposition: form-data; name="text"` + parameters(10_000_000)),
		part(`Content-Disposition: form-data; name="text"` + parameters(15<<10)),
		part("Content-Disposition: form-data; name=text\r\nContent-Type: text/plain" + parameters(14<<10)),
		part("Content-Disposition: form-data; name=text\r\n" + strings.Repeat("a: b\r\n", 1_000_000) + "c: d"),
	}
	p.mustServeOthers(t, 6, func(ctx context.Context, n int) {
		body := bodies[n%len(bodies)]
		length := int64(-1) // chunked, so that it is not refused by its length
		if n%3 == 0 {
			length = int64(len(body))
		}
		path, signedIn := "/page/1/form/note", ""
		if n%3 == 2 {
			path, signedIn = "/author", cookie
		}
		r, err := p.postPage(ctx, path, signedIn, contentType, strings.NewReader(body), length)
		if err == nil && r.status != http.StatusRequestEntityTooLarge && r.status != http.StatusTooManyRequests {
			t.Errorf("a body of %d bytes: status %d", len(body), r.status)
		}
	})
	p.mustHaveStayedSmall(t, idle)
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

// Forms of expired sessions need no credentials. They cost little, and nobody can
// keep others from sending theirs.
func TestExpiredFormsKeepNobodyFromSending(t *testing.T) {
	p := start(t, newSite(t))
	p.must(t, 201, "POST", "/kept/submission", note("first"))
	idle := p.memory(t, "VmRSS")
	var values []string
	for i := range 500 {
		values = append(values, fmt.Sprintf("f%03d", i), strings.Repeat("<", 124))
	}
	body, contentType := multipartForm(t, values...)
	p.mustServeOthers(t, 8, func(ctx context.Context, _ int) {
		r, err := p.postPage(ctx, "/page/1/form/note", "", contentType, bytes.NewReader(body), int64(len(body)))
		if err == nil && r.status != http.StatusForbidden && r.status != http.StatusTooManyRequests {
			t.Errorf("status %d: %s", r.status, r.body)
		}
	})
	p.mustHaveStayedSmall(t, idle)
}

// Slow senders without credentials use up the slots of their own address only, and
// for 30 seconds at most.
func TestSlowExpiredFormsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	p := start(t, newSite(t))
	host := strings.TrimPrefix(p.url, "http://")
	body, contentType := multipartForm(t, "text", "long work")
	send := func(from string, length int64, sent []byte) (net.Conn, error) {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := dialer.DialContext(t.Context(), "tcp", host)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(50 * time.Second))
		_, err = fmt.Fprintf(conn, "POST /page/1/form/note HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", contentType, length, sent)
		return conn, err
	}
	const slots = 4
	statuses := map[int]int{}
	got := make(chan int, 16)
	for range cap(got) {
		conn, err := send("127.0.0.1", int64(len(body)), body[:len(body)-1])
		must(t, err)
		go func() { got <- statusOf(conn) }()
	}
	for range cap(got) - slots {
		statuses[<-got]++
	}
	conn, err := send("127.0.0.2", int64(len(body)), body)
	must(t, err)
	testkit.Same(t, "from another address: status", statusOf(conn), http.StatusForbidden)
	// What is too large is refused before it is sent.
	if conn, err = send("127.0.0.2", 2<<30, nil); err != nil {
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

// One user who has many texts read on the author's page keeps nobody from sending.
func TestAuthorTextsKeepNobodyFromSending(t *testing.T) {
	const size = 256 << 10
	var fields strings.Builder
	fields.WriteString("form: a\nfields:\n")
	for i := range 1000 {
		fmt.Fprintf(&fields, "  - {id: f%d, type: radio, label: %s, options: [%s]}\n", i, strings.Repeat("l", 50), strings.Repeat("<, ", 30)+"a")
	}
	for name, text := range map[string]string{
		"brackets": strings.Repeat("[", size),
		"fields":   fields.String(),
		"comments": "form: a\nfields:\n" + strings.Repeat("#\n", size/2-20),
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, newSite(t))
			p.must(t, 201, "POST", "/kept/submission", note("first"))
			cookie := p.signIn(t, "ann")
			idle := p.memory(t, "VmRSS")
			body, contentType := multipartForm(t, "text", text)
			p.mustServeOthers(t, 50, func(ctx context.Context, _ int) {
				r, err := p.postPage(ctx, "/author", cookie, contentType, bytes.NewReader(body), int64(len(body)))
				if err == nil && r.status != http.StatusOK && r.status != http.StatusTooManyRequests && r.status != http.StatusServiceUnavailable {
					t.Errorf("status %d", r.status)
				}
			})
			p.mustHaveStayedSmall(t, idle)
		})
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
	idle := p.memory(t, "VmRSS")
	for i, unit := range units {
		write(strconv.Itoa(10+i), unit, "large")
	}
	write("99", "", "after")
	testkit.EventuallyWithin(t, 3*testkit.WaitLimit, "all are read", func() bool {
		p.mustCreate(t, 1)
		return strings.Contains(formsOf(t, p, "99"), "after")
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

// formsOf returns the answer for the forms of a page.
func formsOf(t *testing.T, p *process, page string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", p.url+"/rest/forms/1.0/page/"+page+"/form", http.NoBody)
	must(t, err)
	req.SetBasicAuth("ann", "secret")
	r, err := do(client, req)
	if err != nil || r.status != 200 {
		t.Fatalf("forms of page %s: %v, %d %s", page, err, r.status, r.body)
	}
	return r.body
}
