// Package e2e tests the real binary: tests start it as a process, talk HTTP to it,
// and end it by signals.
package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// binary is the path of the program under test.
var binary string

func must(t testing.TB, err error) {
	t.Helper()
	testkit.Must(t, err)
}

func TestMain(m *testing.M) { os.Exit(testkit.Main(&binary, 3*runtime.NumCPU(), m.Run)) }

// process is a running server.
type process struct {
	*testkit.Server
	url string
}

// launch starts a server, and waits until it serves.
func launch(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := begin(t, cmd)
	p.await(t)
	return p
}

// begin starts a server, and does not wait until it serves.
func begin(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	return &process{Server: testkit.Begin(t, cmd)}
}

func (p *process) await(t *testing.T) {
	t.Helper()
	p.Await(t)
	p.url = p.URL
}

func (p *process) output() string               { return p.Log() }
func (p *process) kill()                        { p.Kill() }
func (p *process) terminate(t *testing.T) error { t.Helper(); return p.Terminate(t) }

// mustLog waits until the log has n lines that hold all texts, and fails if it has
// more: lines are written some milliseconds after they were logged.
func (p *process) mustLog(t *testing.T, n int, texts ...string) {
	t.Helper()
	found := 0
	testkit.Eventually(t, fmt.Sprintf("the log tells %d times: %q", n, texts), func() bool {
		found = 0
		for line := range strings.Lines(p.output()) {
			if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
				found++
			}
		}
		return found >= n
	})
	if found > n {
		t.Errorf("the log tells %d times, want %d: %q\n%s", found, n, texts, p.output())
	}
}

// response is an answer read in full.
type response struct {
	status int
	header http.Header
	body   string
}

// call makes a request as ann. An error means that there was no complete answer.
func (p *process) call(ctx context.Context, method, path, body string) (response, error) {
	return p.callAs(ctx, "ann", "secret", method, path, body)
}

func (p *process) callAs(ctx context.Context, user, password, method, path, body string) (response, error) {
	req, err := request(ctx, p.url, method, path, body)
	if err != nil {
		return response{}, err
	}
	req.SetBasicAuth(user, password)
	return do(client, req)
}

// client keeps as many connections as a test has callers, and waits longer
// than the server may take for any answer.
var client = newClient()

func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	return &http.Client{Transport: transport, Timeout: 40 * time.Second}
}

// unredirected is client, but it follows no redirects.
var unredirected = func() *http.Client {
	c := *client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}()

// request returns a request for a form on page 1, as ann.
func request(ctx context.Context, url, method, path, body string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, url+"/rest/forms/1.0/page/1/form"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth("ann", "secret")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

func do(c *http.Client, req *http.Request) (response, error) {
	resp, err := c.Do(req)
	if err != nil {
		return response{}, err
	}
	content, err := io.ReadAll(resp.Body)
	return response{resp.StatusCode, resp.Header, string(content)}, errors.Join(err, resp.Body.Close())
}

// get reads a page with a cookie; "" for none.
func (p *process) get(ctx context.Context, c *http.Client, path, cookie string) (response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, http.NoBody)
	if err != nil {
		return response{}, err
	}
	if cookie != "" {
		req.Header.Set("Cookie", cookie)
	}
	return do(c, req)
}

// must fails the test unless the call is answered with the wanted status.
func (p *process) must(t *testing.T, status int, method, path, body string) response {
	t.Helper()
	r, err := p.call(t.Context(), method, path, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	if r.status != status {
		t.Fatalf("%s %s: status %d, want %d: %s\n%s", method, path, r.status, status, r.body, p.output())
	}
	return r
}

// signIn signs somebody in on the pages, and returns the cookie of the session.
func (p *process) signIn(t *testing.T, user string) string {
	t.Helper()
	resp, err := unredirected.PostForm(p.url+"/login", url.Values{"username": {user}, "password": {"secret"}})
	must(t, err)
	_ = resp.Body.Close()
	if len(resp.Cookies()) != 1 {
		t.Fatalf("sign in as %s: status %d", user, resp.StatusCode)
	}
	return resp.Cookies()[0].String()
}

// multipartOf is a form as browsers send it, with the boundary b.
func multipartOf(values url.Values) string {
	var body strings.Builder
	for name := range values {
		fmt.Fprintf(&body, "--b\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", name, values.Get(name))
	}
	return body.String() + "--b--\r\n"
}

func note(text string) string {
	return fmt.Sprintf(`{"fields":{"text":{"fieldId":"text","value":%q}}}`, text)
}

// submission is the nested model as far as these tests look at it.
type submission struct {
	ID     int64
	Fields map[string]struct{ Value string }
}

func (p *process) submissions(t *testing.T, form string) map[int64]string {
	t.Helper()
	var list []submission
	must(t, json.Unmarshal([]byte(p.must(t, 200, "GET", "/"+form+"/submission", "").body), &list))
	texts, last := map[int64]string{}, int64(0)
	for _, s := range list {
		if s.ID <= last {
			t.Fatalf("id %d comes after %d in the list", s.ID, last)
		}
		texts[s.ID], last = s.Fields["text"].Value, s.ID
	}
	return texts
}
