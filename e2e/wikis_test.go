//go:build release

package e2e

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// layout is a layout of docs/wikis.md.
type layout struct {
	serve  string // what the line that starts Formulary has, and that of the other layout has not
	host   string
	files  string // directory of the certificate
	base   string // base path
	cookie string
}

// The examples of docs/wikis.md, with a real nginx and Caddy.
func TestOneHostOrTwo(t *testing.T) {
	t.Parallel()
	wiki := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "the wiki at %s%s", r.Host, r.URL.Path)
	}))
	t.Cleanup(wiki.Close)
	cert := newCertificate(t, t.TempDir())
	for name, l := range map[string]layout{
		"one host":  {"--data data \\\n  --base-path", "wiki.example.org", "/etc/ssl/wiki", "/forms", "__Host-formulary+forms"},
		"two hosts": {"--data data \\\n  --frame-ancestors", "forms.example.org", "/etc/ssl/formulary", "", "__Host-formulary"},
	} {
		t.Run(name, func(t *testing.T) {
			forms := fmt.Sprint("127.0.0.1:", freePort(t))
			changes := []string{"127.0.0.1:8080", forms}
			if l.base != "" {
				changes = append(changes, "127.0.0.1:8090", strings.TrimPrefix(wiki.URL, "http://"))
			}
			startDocumented(t, l.serve, forms)

			address := fmt.Sprint("127.0.0.1:", freePort(t))
			runNginx(t, address, docBlock(t, "wikis.md", "nginx", "server {\n    listen 443 ssl;\n    server_name "+l.host, append(changes,
				"listen 443 ssl", "listen "+address+" ssl", l.files+"/fullchain.pem", cert.cert, l.files+"/privkey.pem", cert.key)...))
			l.visit(t, cert.client(address, ""))
			l.visit(t, cert.client(runCaddy(t, docBlock(t, "wikis.md", "caddy", l.host+" {", append(changes,
				l.host+" {", l.host+" {\n\ttls "+cert.cert+" "+cert.key)...)), ""))
		})
	}
}

// startDocumented starts Formulary with the line of the page that has a text in it.
func startDocumented(t *testing.T, text, address string) {
	t.Helper()
	s := newSite(t)
	for _, block := range docBlocks(t, "wikis.md", "sh") {
		if strings.Contains(block, text) {
			runBeside(t, exec.Command("sh", "-c", strings.NewReplacer("formulary serve", "exec "+binary+" serve", "127.0.0.1:8080", address,
				"--pages pages", "--pages "+s.pages, "--users users.htpasswd", "--users "+s.users, "--data data", "--data "+s.data).Replace(block)))
			awaitListener(t, address)
			return
		}
	}
	t.Fatalf("docs/wikis.md has no line with %q", text)
}

// visit signs in, and opens and sends a form as the wiki's page would, and by the API.
func (l layout) visit(t *testing.T, client *http.Client) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	client.Jar = jar
	origin := "https://" + l.host
	const form, api = "/page/1/form/note", "/rest/forms/1.0/page/1/form/note"
	ask := func(status int, text, method, path, contentType, body string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, origin+path, strings.NewReader(body))
		must(t, err)
		if contentType != "" {
			req.Header.Set("Content-Type", contentType)
			req.Header.Set("Origin", origin)
		}
		if strings.HasPrefix(path, l.base+"/rest/") {
			req.SetBasicAuth("ann", "secret")
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		defer func() { _ = resp.Body.Close() }()
		content, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status || !strings.Contains(string(content), text) {
			t.Errorf("%s %s: %d, %v, without %q: %s", method, path, resp.StatusCode, err, text, content)
		}
		return resp, string(content)
	}

	if l.base != "" {
		ask(200, "the wiki at "+l.host+"/Main_Page", "GET", "/Main_Page", "", "")
		ask(200, "the wiki at "+l.host+"/formsx", "GET", "/formsx", "", "")
		ask(200, "the wiki at "+l.host+"/metrics", "GET", "/metrics", "", "")
		ask(200, "Sign in", "GET", l.base, "", "")
	} else {
		ask(404, "", "GET", "/metrics", "", "")
	}
	ask(200, "formulary", "GET", l.base+"/embed.js", "", "")
	ask(200, "User name", "GET", l.base+"/embed"+form, "", "") // over TLS, people can sign in there
	next := url.Values{"username": {"ann"}, "password": {"secret"}, "next": {l.base + form}}
	resp, _ := ask(200, "<bdi>ann</bdi>", "POST", l.base+"/login", "application/x-www-form-urlencoded", next.Encode())
	testkit.Same(t, "the sign-in leads", resp.Request.URL.Path, l.base+form)
	if cookies := jar.Cookies(&url.URL{Scheme: "https", Host: l.host, Path: "/"}); len(cookies) != 1 || cookies[0].Name != l.cookie {
		t.Errorf("cookies %v", cookies)
	}
	framed, page := ask(200, "Signed in as <bdi>ann</bdi>", "GET", l.base+"/embed"+form, "", "")
	if policy := framed.Header.Get("Content-Security-Policy"); !strings.HasSuffix(policy, "frame-ancestors https://wiki.example.org") {
		t.Errorf("policy %q", policy)
	}
	sent := url.Values{"text": {"from the wiki's page"}, "_for": {hiddenFor.FindStringSubmatch(page)[1]}, "_key": {rand.Text()}}
	ask(200, "This is what was sent", "POST", l.base+"/embed"+form, "multipart/form-data; boundary=b", multipartOf(sent))
	created, _ := ask(201, `"username":"ann"`, "POST", l.base+api+"/submission", "application/json", note(strings.Repeat("long ", 100_000)))
	ask(200, "long", "GET", created.Header.Get("Location"), "", "")
}
