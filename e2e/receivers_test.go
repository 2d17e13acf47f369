package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

const hookSecret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="

// The receivers of docs/events.md accept what Formulary has signed, and act on it once. They refuse what
// was changed, what is not signed, and what is too old.
func TestDocumentedReceivers(t *testing.T) {
	t.Parallel()
	for language, command := range map[string]string{
		"go": "go build -o receiver receiver.go && exec ./receiver", "python": "exec python3 receiver.python",
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("python3"); err != nil && language == "python" {
				testkit.Missing(t, err)
			}
			dir, port := t.TempDir(), fmt.Sprint(freePort(t))
			code := docBlock(t, "events.md", language, "", "9000", port)
			if lines := strings.Count(code, "\n"); lines > 30 {
				t.Errorf("%d lines, more than 30", lines)
			}
			testkit.WriteFile(t, filepath.Join(dir, "receiver."+language), code)
			cmd := exec.Command("sh", "-c", command+" >received")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "SECRET="+hookSecret, "GOFLAGS=-trimpath", "GO111MODULE=off")
			runBeside(t, cmd)
			awaitListener(t, "127.0.0.1:"+port)
			testReceiver(t, "http://127.0.0.1:"+port, filepath.Join(dir, "received"))
		})
	}
}

// The hooks files of docs/events.md have no mistakes.
func TestDocumentedHooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"crm.secret", "wiki-bot"} {
		testkit.WriteFile(t, filepath.Join(dir, name), "whsec_"+hookSecret+"\n")
	}
	for begin, names := range map[string]string{"# hooks.yaml": "crm", "hooks:": "crm, wiki-bot"} {
		file := filepath.Join(dir, "hooks.yaml")
		testkit.WriteFile(t, file, strings.ReplaceAll(docBlock(t, "events.md", "yaml", begin), "/run/secrets/", dir+"/"))
		mustRefuse(t, "there are: "+names+"\n", "hooks", "test", "--hooks", file, "nobody")
	}
}

// testReceiver sends requests to a receiver, which writes bodies into a file.
func testReceiver(t *testing.T, url, file string) {
	t.Helper()
	post := func(header http.Header, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		must(t, err)
		req.Header = header
		r, err := do(client, req)
		if err != nil {
			t.Error(err)
		}
		return r.status
	}
	var header http.Header
	var body []byte
	relay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		body, _ = io.ReadAll(r.Body) // a short one is refused
		w.WriteHeader(post(header, string(body)))
	}))
	defer relay.Close()
	hooks := filepath.Join(t.TempDir(), "hooks.yaml")
	testkit.WriteFile(t, hooks, "hooks:\n  - {name: crm, url: "+relay.URL+", secret: whsec_"+hookSecret+", allowPrivate: true}\n")
	mustRun(t, "hooks", "test", "--hooks", hooks, "crm")

	changed := func(name, value string) http.Header {
		other := maps.Clone(header)
		other.Set(name, value)
		return other
	}
	signed := func(at time.Time) http.Header {
		key, err := base64.StdEncoding.DecodeString(hookSecret)
		must(t, err)
		mac := hmac.New(sha256.New, key)
		_, _ = fmt.Fprintf(mac, "own.%d.{}", at.Unix())
		return http.Header{
			"Webhook-Id": {"own"}, "Webhook-Timestamp": {fmt.Sprint(at.Unix())},
			"Webhook-Signature": {"v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))},
		}
	}
	for _, tt := range []struct {
		what   string
		header http.Header
		body   string
		want   int // of 100
	}{
		{"the same again", header, string(body), 2},
		{"another body", header, strings.Replace(string(body), "test", "tesd", 1), 4},
		{"another id", changed("webhook-id", "x"), string(body), 4},
		{"another time", changed("webhook-timestamp", fmt.Sprint(time.Now().Unix()+1)), string(body), 4},
		{"another signature", changed("webhook-signature", "v1,"+strings.Repeat("A", 43)+"="), string(body), 4},
		{"nothing signed", http.Header{}, "", 4},
		{"signed six minutes ago", signed(time.Now().Add(-6 * time.Minute)), "{}", 4},
		{"signed in six minutes", signed(time.Now().Add(6 * time.Minute)), "{}", 4},
		{"signed four minutes ago", signed(time.Now().Add(-4 * time.Minute)), "{}", 2},
	} {
		if status := post(tt.header, tt.body); status/100 != tt.want {
			t.Errorf("%s: status %d", tt.what, status)
		}
	}
	received, err := os.ReadFile(file)
	if want := append(bytes.TrimSpace(body), "{}"...); err != nil || strings.Join(strings.Fields(string(received)), "") != string(want) {
		t.Errorf("received %q, want %q: %v", received, want, err)
	}
}
