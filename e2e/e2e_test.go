// Package e2e tests the real binary: tests start it as a process, talk HTTP to it,
// and end it by signals.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// binary is the path of the program under test.
var binary string

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) {
	if signal.Ignored(syscall.SIGHUP) {
		// The tests run under nohup. Processes inherit what is ignored, but not
		// what is caught: servers shall get SIGHUP as they do without nohup.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	path, remove, err := testkit.Binary()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = path
	// Most tests wait for something most of the time.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.NumCPU())); err != nil {
		panic(err)
	}
	code := m.Run()
	remove()
	os.Exit(code)
}

// TestBinary looks at the binary and its variable within a test, so that go test takes
// no results from its cache after either has changed. What TestMain looks at does
// not count for the cache.
func TestBinary(t *testing.T) {
	if path := os.Getenv(testkit.BinaryVariable); path != "" && path != binary {
		t.Errorf("the tests run %s, want %s", binary, path)
	}
	if info, err := os.Stat(binary); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("%s can't be run: %v", binary, err)
	}
}

// process is a running server.
type process struct {
	cmd    *exec.Cmd
	stderr io.Closer // the log's end here
	url    string
	urls   chan string
	done   chan error

	mu  sync.Mutex
	log bytes.Buffer
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
	p := &process{cmd: cmd, urls: make(chan string, 1), done: make(chan error, 1)}
	stderr, err := p.cmd.StderrPipe()
	must(t, err)
	p.stderr = stderr
	must(t, p.cmd.Start())
	go func() {
		p.read(stderr, p.urls)
		p.done <- p.cmd.Wait()
	}()
	t.Cleanup(func() { p.kill() })
	return p
}

// await returns when the server serves.
func (p *process) await(t *testing.T) {
	t.Helper()
	select {
	case p.url = <-p.urls:
	case <-time.After(testkit.WaitLimit):
		t.Fatalf("the server did not start:\n%s", p.output())
	}
	if p.url == "" {
		t.Fatalf("the server ended before it served:\n%s", p.output())
	}
}

// read collects the log. It sends the URL when the server has logged it, or "" at the
// end of the log.
func (p *process) read(stderr io.Reader, urls chan<- string) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	serving := false
	for lines.Scan() {
		p.mu.Lock()
		p.log.Write(lines.Bytes())
		p.log.WriteByte('\n')
		p.mu.Unlock()
		var line struct{ Msg, URL string }
		if !serving && json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			serving = true // later lines are not decoded: under load they are many
			urls <- line.URL
		}
	}
	select {
	case urls <- "":
	default:
	}
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

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

// kill ends the process as a power cut would, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	err := <-p.done
	p.done <- err // for the next caller that waits
}

// terminate ends the process as an operator would and returns its exit error.
// The server promises to end within ten seconds; the test allows a busy machine
// twice as many.
func (p *process) terminate(t *testing.T) error {
	t.Helper()
	const within = 20 * time.Second
	must(t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-p.done:
		p.done <- err
		return err
	case <-time.After(within):
		t.Fatalf("the server did not end within %s:\n%s", within, p.output())
		return nil
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
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.PostForm(p.url+"/login", url.Values{"username": {user}, "password": {"secret"}})
	must(t, err)
	_ = resp.Body.Close()
	if len(resp.Cookies()) != 1 {
		t.Fatalf("sign in as %s: status %d", user, resp.StatusCode)
	}
	return resp.Cookies()[0].String()
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
