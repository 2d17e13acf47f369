package e2e

import (
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// The server believes the header of a trusted proxy, and ignores that of other clients, on pages
// and API alike.
func TestUserHeader(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := launch(t, exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--pages", s.pages, "--data", s.data,
		"--user-header", "x-user", "--groups-header", "x-groups", "--trusted-proxies", "127.0.0.2", "--logout-url", "/out"))
	ask := func(from, method, path string, status int) response {
		t.Helper()
		transport := &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext}
		defer transport.CloseIdleConnections()
		req, err := request(t.Context(), p.url, method, "", "")
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Path = path
		req.Header.Set("X-User", "zoe")
		req.Header.Set("X-Forwarded-For", "127.0.0.2") // says that it comes from the proxy
		r, err := do(&http.Client{Transport: transport}, req)
		if err != nil || r.status != status {
			t.Errorf("%s %s from %s: %d, %v: %s", method, path, from, r.status, err, r.body)
		}
		return r
	}
	const proxy, client, api = "127.0.0.2", "127.0.0.1", "/rest/forms/1.0/page/1/form/note"
	if r := ask(proxy, "GET", "/", http.StatusOK); !strings.Contains(r.body, "<bdi>zoe</bdi>") || !strings.Contains(r.body, `<a href="/out"`) {
		t.Errorf("home: %s", r.body)
	}
	ask(proxy, "GET", api, http.StatusOK)
	ask(client, "GET", "/", http.StatusUnauthorized)
	ask(client, "GET", api, http.StatusUnauthorized)
	ask(proxy, "GET", "/login", http.StatusNotFound)
	ask(proxy, "POST", "/logout", http.StatusNotFound)
	ask(client, "GET", "/readyz", http.StatusOK)
	p.mustLog(t, 1, "users are whom a trusted proxy names", "x-user", "x-groups", "127.0.0.2/32")
	p.mustLog(t, 1, "a header is ignored because its sender is no trusted proxy", "X-User", "127.0.0.1")
	if err := p.terminate(t); err != nil {
		t.Errorf("exit: %v", err)
	}
}
