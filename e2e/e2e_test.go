// Package e2e runs the real binary as its users do: started as a process,
// spoken to over HTTP, and ended by signals, kindly and otherwise.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

var binary string

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "formulary-e2e-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "formulary")
	build := exec.Command("go", "build", "-o", binary, "../cmd/formulary")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build formulary: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// site is what an operator sets up: pages, users, a data directory.
type site struct {
	pages, users, data string
}

const pageSource = "```yaml form\n" + `form: note
fields:
  - {id: text, type: textbox, label: Text, required: true}
  - {id: more, type: textfield, label: More}
` + "```\n\n```yaml form\n" + `form: vote
anonymous: true
oneSubmission: true
fields:
  - {id: choice, type: radio, label: Choice, required: true, options: [a, b]}
` + "```\n"

func newSite(t *testing.T) site {
	t.Helper()
	dir := t.TempDir()
	s := site{pages: filepath.Join(dir, "pages"), users: filepath.Join(dir, "users"), data: filepath.Join(dir, "data")}
	if err := os.Mkdir(s.pages, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(s.pages, "1.md"), pageSource)
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, s.users, "ann:"+string(hash)+"\nben:"+string(hash)+"\n")
	return s
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// process is a running server.
type process struct {
	cmd  *exec.Cmd
	url  string
	done chan error

	mu  sync.Mutex
	log bytes.Buffer
}

func start(t *testing.T, s site, args ...string) *process {
	t.Helper()
	return launch(t, exec.Command(binary, append(s.serve(), args...)...))
}

func (s site) serve() []string {
	return []string{
		"serve", "--listen", "127.0.0.1:0", "--log-format", "json",
		"--pages", s.pages, "--users", s.users, "--data", s.data,
	}
}

// launch runs a command that becomes a server, and waits until it serves.
func launch(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, done: make(chan error, 1)}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	urls := make(chan string, 1)
	go func() {
		p.read(stderr, urls)
		p.done <- p.cmd.Wait()
	}()
	t.Cleanup(func() { p.kill() })
	select {
	case p.url = <-urls:
	case <-time.After(20 * time.Second):
		t.Fatalf("the server did not start:\n%s", p.output())
	}
	if p.url == "" {
		t.Fatalf("the server ended before it served:\n%s", p.output())
	}
	return p
}

// read takes in the log and sends the URL when the server says it, or "" at the log's end.
func (p *process) read(stderr io.Reader, urls chan<- string) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		p.log.Write(lines.Bytes())
		p.log.WriteByte('\n')
		p.mu.Unlock()
		var line struct{ Msg, URL string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
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

// kill ends the process as a power cut would, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	err := <-p.done
	p.done <- err // for the next one who waits
}

// terminate ends the process as an operator would and returns its exit error.
func (p *process) terminate(t *testing.T, within time.Duration) error {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
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

// call makes a request as ann. An error means that no whole answer came.
func (p *process) call(ctx context.Context, method, path, body string) (response, error) {
	return p.callAs(ctx, "ann", "secret", method, path, body)
}

func (p *process) callAs(ctx context.Context, user, password, method, path, body string) (response, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.url+"/rest/forms/1.0/page/1/form"+path, strings.NewReader(body))
	if err != nil {
		return response{}, err
	}
	req.SetBasicAuth(user, password)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
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
	if err := json.Unmarshal([]byte(p.must(t, 200, "GET", "/"+form+"/submission", "").body), &list); err != nil {
		t.Fatal(err)
	}
	texts := map[int64]string{}
	for _, s := range list {
		texts[s.ID] = s.Fields["text"].Value
	}
	return texts
}

// eventually waits for a condition that another process brings about.
func eventually(t *testing.T, within time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(within)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}
