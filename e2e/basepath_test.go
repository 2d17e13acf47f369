package e2e

import (
	"errors"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// With --base-path all but the server's own endpoints is below it, log and metrics
// name it, and the log keeps quiet about anonymous forms as ever.
func TestBasePath(t *testing.T) {
	t.Parallel()
	p := start(t, newSite(t), "--base-path", "/team/forms/", "--metrics")
	root, found := strings.CutSuffix(p.url, "/team/forms")
	if !found {
		t.Fatalf("it serves at %s", p.url)
	}
	get := func(path string) response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", root+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r, err := do(client, req)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	p.must(t, 201, "POST", "/note/submission", note("below"))
	p.must(t, 201, "POST", "/vote/submission", `{"fields":{"choice":{"fieldId":"choice","value":"a"}}}`)
	for path, want := range map[string]int{
		"/healthz": 200, "/readyz": 200, "/metrics": 200, "/team/forms": 200, "/team/forms/login": 200, "/team/forms/docs": 200, "/team/forms/embed.js": 200,
		"/": 404, "/team/": 404, "/login": 404, "/docs": 404, "/embed.js": 404, "/page/1/form/vote": 404, "/rest/forms/1.0/page/1/form": 404,
		"/team/forms/healthz": 404, "/team/forms/metrics": 404, "/team/forms/rest/forms/1.0/page/1/form": 401,
	} {
		if r := get(path); r.status != want {
			t.Errorf("GET %s: %d, want %d", path, r.status, want)
		}
	}
	mustRun(t, "health", root)
	if metrics := get("/metrics").body; !strings.Contains(metrics, `route="/team/forms/rest/forms/1.0/page/{pageId}/form/{formId}/submission"`) {
		t.Error("the metrics have no route below the base path")
	}
	testkit.Eventually(t, "the log has the last request", func() bool {
		return strings.Contains(p.output(), `"path":"/team/forms/rest/forms/1.0/page/1/form","status":401`)
	})
	for line := range strings.Lines(p.output()) {
		vote, outside := strings.Contains(line, "/form/vote"), strings.Contains(line, `"path":"/embed.js"`)
		if (vote || outside) && (strings.Contains(line, `"remote"`) || strings.Contains(line, `"ann"`) || !strings.Contains(line, `"anonymous":true`)) {
			t.Errorf("log: %s", line)
		}
	}
}

func TestBasePathIsRefused(t *testing.T) {
	t.Parallel()
	out, err := run(t, append(newSite(t).serve(), "--base-path", "/a/../b")...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(out, `--base-path "/a/../b"`) {
		t.Errorf("%v: %s", err, out)
	}
}
