package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// Every flag of serve that changes what is served has an effect.
func TestFlagsOfServe(t *testing.T) {
	t.Parallel()
	s, cert := newSite(t), newCertificate(t, t.TempDir())
	testkit.WriteFile(t, filepath.Join(s.pages, "2.md"), "---\nview: [\"@staff\"]\n---\n"+
		"```form\nform: old\ncloses: 2020-01-01\nfields:\n  - {id: text, type: textfield}\n```\n")
	css := filepath.Join(s.pages, "brand.css")
	testkit.WriteFile(t, css, ":root { --accent: #123456 }")
	p := launch(t, exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--pages", s.pages, "--data", s.data,
		"--tls-cert", cert.cert, "--tls-key", cert.key, "--base-path", "/team/forms/", "--metrics", "--max-body", "1000",
		"--user-header", "x-user", "--groups-header", "x-groups", "--trusted-proxies", "127.0.0.2", "--logout-url", "/out",
		"--timezone", "Asia/Tokyo", "--language", "de", "--brand-name", "ACME", "--brand-css", css,
		"--frame-ancestors", "https://wiki.example.org"))
	address, found := strings.CutSuffix(strings.TrimPrefix(p.url, "https://"), "/team/forms")
	if !found {
		t.Fatalf("it serves at %s", p.url)
	}
	const proxy, other, base, api = "127.0.0.2", "127.0.0.1", "/team/forms", "/team/forms/rest/forms/1.0/page/1/form/note"
	for _, tt := range []struct {
		from, path, body string
		status           int
		text             string // what header or body has in it
	}{
		{proxy, base + "/", "", 200, "<bdi>zoe</bdi>"},
		{proxy, base + "/", "", 200, `<a href="/out"`},
		{proxy, base + "/", "", 200, "ACME"},
		{proxy, base + "/", "", 200, `<html lang="de"`},
		{proxy, base + "/", "", 200, "Strict-Transport-Security:[max-age=31536000]"},
		{proxy, base + "/", "", 200, `/brand.css"`},
		{proxy, base + "/page/2", "", 200, "Page 2"},
		{proxy, base + "/embed/page/1/form/note", "", 200, "frame-ancestors https://wiki.example.org"},
		{proxy, base + "/embed.js", "", 200, "Cross-Origin-Resource-Policy:[cross-origin]"},
		{proxy, base + "/login", "", 404, ""},
		{proxy, base + "/docs", "", 200, "<html"},
		{proxy, api, "", 200, `"note"`},
		{proxy, api + "/submission", note("x"), 201, "/team/forms/rest/"},
		{proxy, api + "/submission", note(strings.Repeat("x", 1000)), 413, ""},
		{proxy, base + "/rest/forms/1.0/page/2/form/old/submission", note("x"), 400, "2020-01-01 (Asia/Tokyo)"},
		{other, base + "/", "", 401, ""}, // and its header is ignored
		{other, base + "/docs", "", 200, "<html"},
		{other, api, "", 401, ""},
		{other, "/", "", 404, ""},
		{other, "/rest/forms/1.0/page/1/form/note", "", 404, ""},
		{other, base + "/metrics", "", 404, ""},
		{other, "/readyz", "", 200, ""},
		{proxy, base + "/", "", 200, `<p class="version"><bdi>Formulary `},
		{other, "/metrics", "", 200, `,version="`},
		{other, "/metrics", "", 200, `route="/team/forms/rest/forms/1.0/page/{pageId}/form/{formId}"`},
	} {
		method := "GET"
		if tt.body != "" {
			method = "POST"
		}
		req, err := http.NewRequestWithContext(t.Context(), method, "https://forms.example.com"+tt.path, strings.NewReader(tt.body))
		must(t, err)
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-User": {"zoe"}, "X-Groups": {"staff"}, "X-Forwarded-For": {proxy}}
		r, err := do(cert.client(address, tt.from), req)
		if said := fmt.Sprint(r.header, r.body); err != nil || r.status != tt.status || !strings.Contains(said, tt.text) {
			t.Errorf("%s %s from %s: %d, %v, want %d with %q: %s", method, tt.path, tt.from, r.status, err, tt.status, tt.text, said)
		}
	}
	mustRefuse(t, "certificate", "health", "https://"+address)
	p.mustLog(t, 1, "users are whom a trusted proxy names", "x-user", "x-groups", "127.0.0.2/32")
	p.mustLog(t, 1, "a header is ignored because its sender is no trusted proxy", "X-User", "127.0.0.1")
}

// SIGTERM lets a request in flight finish, logs it, and ends the process with status 0.
func TestGracefulEnd(t *testing.T) {
	engines(t, func(t *testing.T, s site) {
		l, p := newLedger(), start(t, s)
		people := startLoad(t, l, 8, true, p.url)
		l.moreAcked(t, 8)
		must(t, p.terminate(t))
		people.stop()
		if logged := strings.Count(p.output(), `"status":201`); logged < len(l.acked) {
			t.Errorf("%d of %d requests are in the log", logged, len(l.acked))
		}
		testkit.Same(t, "requests that were refused", strings.Count(p.output(), `"status":503`), 0)
		l.check(t, start(t, s).submissions(t, "note"))
	})
}

// runExamples starts the server as `make run` does, and returns also what it prints.
func runExamples(t *testing.T, address, dir string) (p *process, printed string) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "printed")
	must(t, err)
	defer func() { must(t, out.Close()) }()
	cmd := exec.Command("../scripts/run-examples")
	cmd.Stdout = out
	cmd.Env = append(os.Environ(), "ADDR="+address, "EXAMPLES_DIR="+dir, "FORMULARY_BINARY="+binary,
		"FORMULARY_LOG_FORMAT=json", "GOFLAGS=-buildvcs=false -trimpath -vet=off")
	p = launch(t, cmd)
	content, err := os.ReadFile(out.Name())
	must(t, err)
	return p, string(content)
}

// `make run` serves a copy of the examples and answers. It makes both once, and keeps
// what people change. The lines that it prints work as printed.
func TestExamplesAsPrinted(t *testing.T) {
	t.Parallel()
	address, dir := testkit.FreeAddress(t), filepath.Join(t.TempDir(), "run")
	p, printed := runExamples(t, address, dir)
	lines := regexp.MustCompile(`(?m)^  curl .*$`).FindAllString(strings.ReplaceAll(printed, "\\\n", ""), -1)
	if len(lines) != 3 {
		t.Fatalf("%d curl lines, want 3: %s", len(lines), printed)
	}
	var output string
	for _, line := range lines {
		out, err := exec.Command("bash", "-c", strings.Replace(line, "curl", "curl -sS --fail-with-body", 1)).CombinedOutput()
		if err != nil || !json.Valid(out) {
			t.Errorf("%s: %v: %s", line, err, out)
		}
		output = string(out)
	}
	own := `"_username":"alice","comment":"Nice!","rating":"5"`
	testkit.Contains(t, "the results", output, own)
	if count := strings.Count(output, `"_id"`); count < 50 {
		t.Errorf("%d results", count)
	}
	page := filepath.Join(dir, "pages", "101-team-feedback.md")
	testkit.Contains(t, "what is printed", printed, filepath.Dir(page))
	text, err := os.ReadFile(page)
	must(t, err)
	testkit.WriteFile(t, page, strings.Replace(string(text), "label: Comment", "label: Remarks", 1))
	must(t, p.terminate(t))

	_, printed = runExamples(t, address, dir)
	if strings.Contains(printed, "made-up") {
		t.Errorf("filled again: %s", printed)
	}
	vote := ` -d '{"fields":{"place":{"fieldId":"place","value":"Lake"}}}'`
	for path, want := range map[string]string{
		"101/form/feedback": `"label":"Remarks"`, "101/form/feedback/result": own,
		// Bob has voted, by a hash with the key that the server has, too.
		"103/form/ballot/submission" + vote: "yours is already there",
	} {
		api := "http://" + address + "/rest/forms/1.0/page/"
		curl := "curl -sS -u bob:scaffold -H 'Content-Type: application/json' " + api + path
		out, err := exec.Command("bash", "-c", curl).CombinedOutput()
		must(t, err)
		testkit.Contains(t, path, string(out), want)
	}
}
