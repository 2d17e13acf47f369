package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestHealthAndReadiness(t *testing.T) {
	t.Parallel()
	engines(t, testHealthAndReadiness)
}

func testHealthAndReadiness(t *testing.T, s site) {
	p := start(t, s, "--metrics")
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/docs", "/rest/forms/1.0/openapi.yaml"} {
		resp, err := http.Get(p.url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s without credentials: status %d", path, resp.StatusCode)
		}
	}
}

// Every response has the headers that protect it from other sites. Over TLS of the
// server itself, browsers are told to use nothing else.
func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cert := newCertificate(t, t.TempDir())
	for _, args := range [][]string{nil, {"--tls-cert", cert.cert, "--tls-key", cert.key}} {
		p := start(t, s, args...)
		c, transport := client, ""
		if args != nil {
			c, transport = cert.client(strings.TrimPrefix(p.url, "https://"), ""), "max-age=31536000"
			p.url = "https://forms.example.com"
		}
		for path, policy := range map[string]string{
			"/login": "same-origin", "/healthz": "same-origin", "/none": "same-origin", "/embed/page/1/form/note": "same-origin",
			"/rest/forms/1.0/page/1/form": "same-origin", "/embed.js": "cross-origin",
		} {
			req, err := http.NewRequestWithContext(t.Context(), "GET", p.url+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r, err := do(c, req)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.header.Get("Cross-Origin-Resource-Policy"); got != policy {
				t.Errorf("%s: Cross-Origin-Resource-Policy %q, want %q", path, got, policy)
			}
			if got := r.header.Get("Strict-Transport-Security"); got != transport {
				t.Errorf("%s: Strict-Transport-Security %q, want %q", path, got, transport)
			}
		}
		if err := p.terminate(t); err != nil {
			t.Errorf("exit: %v", err)
		}
	}
}

// A second server on the same data directory ends with an error that says why.
func TestOneProcessPerDataDirectory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	start(t, s)
	mustRefuse(t, s.data+" is in use by another formulary", s.serve()...)
}

// SIGTERM lets a request in flight finish, and ends the process with status 0.
func TestGracefulEnd(t *testing.T) {
	t.Parallel()
	engines(t, testGracefulEnd)
}

func testGracefulEnd(t *testing.T, s site) {
	p := start(t, s)
	const writers = 8
	var wg sync.WaitGroup
	var mu sync.Mutex
	acked := 0
	first := make(chan struct{}, writers)
	for i := range writers {
		wg.Go(func() {
			for k := 0; ; k++ {
				r, err := p.call(t.Context(), "POST", "/note/submission", note(fmt.Sprint(i, k)))
				if err != nil {
					return // refused during the shutdown
				}
				if r.status != 201 {
					t.Errorf("status %d during the shutdown: %s", r.status, r.body)
					return
				}
				mu.Lock()
				acked++
				mu.Unlock()
				if k == 0 {
					first <- struct{}{}
				}
			}
		})
	}
	for range writers {
		<-first
	}
	if err := p.terminate(t); err != nil {
		t.Errorf("exit: %v", err)
	}
	wg.Wait()
	if logged := strings.Count(p.output(), `"status":201`); logged < acked {
		t.Errorf("%d of %d requests are in the log", logged, acked)
	}
	if stored := len(start(t, s).submissions(t, "note")); stored < acked {
		t.Errorf("%d stored, %d acknowledged", stored, acked)
	}
}

// Of two hundred concurrent votes by one user one is stored, and the name is written
// nowhere.
func TestSecretBallot(t *testing.T) {
	t.Parallel()
	engines(t, testSecretBallot)
}

func testSecretBallot(t *testing.T, s site) {
	p := start(t, s)
	var wg sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for range 20 {
		wg.Go(func() {
			for range 10 {
				r, err := p.call(t.Context(), "POST", "/vote/submission", `{"fields":{"choice":{"fieldId":"choice","value":"a"}}}`)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				statuses[r.status]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if statuses[201] != 1 || statuses[400] != 199 {
		t.Errorf("answers by status: %v, want one 201 and 199 of 400", statuses)
	}
	if err := p.terminate(t); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(p.output(), "ann") || strings.Contains(p.output(), `"remote"`) {
		t.Errorf("the log tells who voted:\n%s", p.output())
	}
	if s.database != "" {
		assertNotInDatabase(t, s.database, "ann")
		return
	}
	assertNowhere(t, s.data, "ann")
}

// assertNotInDatabase searches every row of every table.
func assertNotInDatabase(t *testing.T, url, name string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, table := range []string{"submissions", "settings"} {
		var found, all int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE strpos(r::text, $1) > 0), count(*) FROM `+table+` r`, name).Scan(&found, &all)
		if err != nil || found > 0 || all == 0 {
			t.Errorf("%s: %d of %d rows hold %q: %v", table, found, all, name, err)
		}
	}
}

func assertNowhere(t *testing.T, dir, name string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(name)) {
			t.Errorf("%s holds %q", filepath.Base(f), name)
		}
	}
}

// Failed logins throttle the pair of address and user that fails, and no other.
func TestThrottle(t *testing.T) {
	t.Parallel()
	p := start(t, newSite(t))
	last := response{}
	for range 15 {
		r, err := p.callAs(t.Context(), "ann", "wrong", "GET", "/note", "")
		if err != nil {
			t.Fatal(err)
		}
		last = r
	}
	if last.status != 429 || last.header.Get("Retry-After") == "" {
		t.Errorf("after 15 failures: status %d, Retry-After %q", last.status, last.header.Get("Retry-After"))
	}
	if r, err := p.callAs(t.Context(), "ben", "secret", "GET", "/note", ""); err != nil || r.status != 200 {
		t.Errorf("somebody else at the same address: status %d, %v", r.status, err)
	}
	if err := p.terminate(t); err != nil { // the log is whole then
		t.Fatal(err)
	}
	if strings.Contains(p.output(), "wrong") || strings.Contains(p.output(), "secret") {
		t.Error("the log holds a password")
	}
}

// The lines that `make run` prints work as printed.
func TestExamplesAsPrinted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.pages, s.users = "../examples/pages", "../examples/users.htpasswd"
	p := start(t, s, "--groups", "../examples/groups")
	script, err := os.ReadFile("../scripts/run-examples")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(script), `\\`+"\n", "")
	text = strings.ReplaceAll(text, "$api", p.url+"/rest/forms/1.0")
	lines := regexp.MustCompile(`(?m)^  curl .*$`).FindAllString(text, -1)
	if len(lines) != 3 {
		t.Fatalf("%d curl lines in scripts/run-examples, want 3", len(lines))
	}
	var output string
	for _, line := range lines {
		out, err := exec.Command("bash", "-c", strings.Replace(line, "curl", "curl -sS --fail-with-body", 1)).CombinedOutput()
		if err != nil || !json.Valid(out) {
			t.Errorf("%s: %v: %s", line, err, out)
		}
		output = string(out)
	}
	if !strings.Contains(output, `"_username":"alice","comment":"Nice!","rating":"5"`) {
		t.Errorf("the results do not hold the submission: %s", output)
	}
}
