package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// closedPage is the page after ann's access was revoked.
const closedPage = "---\nview: [ben]\nedit: [ben]\n---\n" + pageSource

// replaceFile changes a file in one step, as editors do: the server never
// reads half of it.
func replaceFile(t *testing.T, path, content string) {
	t.Helper()
	tmp := filepath.Join(filepath.Dir(path), ".tmp")
	testkit.WriteFile(t, tmp, content)
	if err := os.Rename(tmp, path); err != nil {
		t.Fatal(err)
	}
}

// editPage changes page 1.
func (s site) editPage(t *testing.T, content string) {
	t.Helper()
	replaceFile(t, filepath.Join(s.pages, "1.md"), content)
}

// awaitStatus waits until ann gets this status for a path.
func (p *process) awaitStatus(t *testing.T, status int, path string) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("HEAD %s is answered with %d", path, status), func() bool {
		r, err := p.call(t.Context(), "HEAD", path, "")
		return err == nil && r.status == status
	})
}

// getAs returns the answer that a user gets for a path.
func (p *process) getAs(t *testing.T, user, path string) string {
	t.Helper()
	r, err := p.callAs(t.Context(), user, "secret", "GET", path, "")
	if err != nil || r.status != http.StatusOK {
		t.Fatalf("GET %s as %s: status %d, %v", path, user, r.status, err)
	}
	return r.body
}

// rawConn is a connection on which a test writes the bytes of requests itself.
type rawConn struct {
	net.Conn
	answers *bufio.Reader
}

func (p *process) dial(t *testing.T) rawConn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(60 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return rawConn{conn, bufio.NewReader(conn)}
}

func (c rawConn) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// header reads the next answer up to its body.
func (c rawConn) header(t *testing.T) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// head is the beginning of a request by ann, without the empty line at its end.
func head(t *testing.T, method, path, proto string) string {
	t.Helper()
	req, err := request(t.Context(), "http://x", method, path, "")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s %s\r\nHost: x\r\nAuthorization: %s\r\n", method, req.URL.Path, proto, req.Header.Get("Authorization"))
}

// sendSlowly creates a submission as ann. The change happens in the middle of
// its body, after the server has opened the form: it asks for a body by
// "100 Continue" only then.
func (p *process) sendSlowly(t *testing.T, form, body string, change func()) response {
	t.Helper()
	conn := p.dial(t)
	conn.send(t, head(t, "POST", "/"+form+"/submission", "HTTP/1.1")+
		fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(body)))
	if resp := conn.header(t); resp.StatusCode != http.StatusContinue {
		t.Fatalf("answered with %d before the body", resp.StatusCode)
	}
	conn.send(t, body[:len(body)/2])
	change()
	conn.send(t, body[len(body)/2:])
	resp := conn.header(t)
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, string(content)}
}

// The rights at the end of a body count, not those at its beginning.
func TestRightsChangeDuringABody(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := start(t, s)
	r := p.sendSlowly(t, "note", note("too late"), func() {
		s.editPage(t, closedPage)
		p.awaitStatus(t, 404, "/note")
	})
	if r.status != http.StatusNotFound {
		t.Errorf("the page is closed: status %d: %s", r.status, r.body)
	}
	s.editPage(t, pageSource)
	p.awaitStatus(t, 200, "/note")
	r = p.sendSlowly(t, "note", note("too late"), func() {
		users, err := os.ReadFile(s.users)
		if err != nil {
			t.Fatal(err)
		}
		_, others, _ := strings.Cut(string(users), "\n")
		replaceFile(t, s.users, others)
		p.awaitStatus(t, 401, "/note")
	})
	if r.status != http.StatusUnauthorized {
		t.Errorf("the user is removed: status %d: %s", r.status, r.body)
	}
	if list := p.getAs(t, "ben", "/note/submission"); list != "[]" {
		t.Errorf("stored: %s", list)
	}
}

// A cursor continues the list of its reader only. Somebody who sees fewer submissions
// could compare theirs with the place of the cursor otherwise.
func TestCursorIsOfItsReader(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.editPage(t, "---\nview: [ben]\nedit: [ann]\n---\n"+pageSource)
	p := start(t, s)
	for _, user := range []string{"ann", "ben", "ann", "ben"} {
		if r, err := p.callAs(t.Context(), user, "secret", "POST", "/note/submission", note("by "+user)); err != nil || r.status != 201 {
			t.Fatal(r, err)
		}
	}
	const list = "/note/result?sort=text&limit=1"
	next := func(user string) string {
		t.Helper()
		r, err := p.callAs(t.Context(), user, "secret", "GET", list, "")
		at, _, found := strings.Cut(r.header.Get("Link"), `>; rel="next"`)
		if err != nil || !found {
			t.Fatalf("first page of %s: %v, %v", user, r, err)
		}
		_, query, _ := strings.Cut(at, "?")
		return "/note/result?" + query
	}
	for of, others := range map[string]string{"ann": "ben", "ben": "ann"} {
		at := next(of)
		if r, err := p.callAs(t.Context(), of, "secret", "GET", at, ""); err != nil || r.status != 200 || !strings.Contains(r.body, `"by `) {
			t.Errorf("second page of %s: %v, %v", of, r, err)
		}
		if r, err := p.callAs(t.Context(), others, "secret", "GET", at, ""); err != nil || r.status != 400 || !strings.Contains(r.body, "cursor is not of this list") {
			t.Errorf("second page of %s for %s: %v, %v", of, others, r, err)
		}
	}
}
