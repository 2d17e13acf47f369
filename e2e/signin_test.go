//go:build release

package e2e

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// issuer is an OpenID provider that asks for no password: it signs in the user whom the
// test says.
type issuer struct {
	*httptest.Server
	key *rsa.PrivateKey

	mu     sync.Mutex
	user   string
	groups []string
	nonces map[string]string // by code
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	i := &issuer{key: key, nonces: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"}, "subject_types_supported": []string{"public"}, "response_types_supported": []string{"code"},
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		e := big.NewInt(int64(key.E)).Bytes()
		writeJSON(w, map[string]any{"keys": []any{map[string]string{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1", "n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(e),
		}}})
	})
	mux.HandleFunc("/auth", func(w http.ResponseWriter, r *http.Request) {
		q, code := r.URL.Query(), rand.Text()
		i.mu.Lock()
		i.nonces[code] = q.Get("nonce")
		i.mu.Unlock()
		http.Redirect(w, r, q.Get("redirect_uri")+"?code="+code+"&state="+url.QueryEscape(q.Get("state")), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, map[string]any{"access_token": "opaque", "token_type": "Bearer", "expires_in": 3600, "id_token": i.token(t, r.FormValue("code"))})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// signsIn has the next sign-in be that of a user.
func (i *issuer) signsIn(user string, groups ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.user, i.groups = user, groups
}

// token is a signed token about the user.
func (i *issuer) token(t *testing.T, code string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := time.Now().Unix()
	claims := map[string]any{
		"iss": i.URL, "aud": "formulary", "sub": "id of " + i.user, "email": i.user, "email_verified": true, "nonce": i.nonces[code],
		"iat": now, "exp": now + 3600,
	}
	if len(i.groups) > 0 {
		claims["groups"] = i.groups
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Error(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"RS256","typ":"JWT","kid":"1"}`)) + "." + encode(payload)
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, digest[:])
	if err != nil {
		t.Error(err)
	}
	return signed + "." + encode(signature)
}

// company is Formulary, oauth2-proxy and an issuer, as docs/sign-in.md has them.
type company struct {
	*issuer
	certificate       certificate
	dir, forms, oauth string // addresses
}

func startCompany(t *testing.T) *company {
	t.Helper()
	c := &company{issuer: newIssuer(t), dir: t.TempDir(), forms: fmt.Sprint("127.0.0.1:", freePort(t)), oauth: fmt.Sprint("127.0.0.1:", freePort(t))}
	c.certificate = newCertificate(t, c.dir)
	s := newSite(t)
	testkit.WriteFile(t, filepath.Join(s.pages, "2.md"), "---\nview: [\"@hr\"]\n---\n```form\nform: pay\nfields:\n  - {id: text, type: textfield, label: Text}\n```\n")
	serve := docBlock(t, "sign-in.md", "sh", "formulary serve", "formulary serve", "exec "+binary+" serve",
		"127.0.0.1:8080", c.forms, "--pages pages", "--pages "+s.pages, "--data data", "--data "+s.data)
	runBeside(t, exec.Command("sh", "-c", serve))

	program := filepath.Join(c.dir, "oauth2-proxy")
	build := exec.Command("go", "build", "-o", program, "github.com/oauth2-proxy/oauth2-proxy/v7")
	build.Dir = "../tools/oauth2-proxy"
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath") // not the tags of these tests
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build oauth2-proxy: %v: %s", err, out)
	}
	testkit.WriteFile(t, filepath.Join(c.dir, "client-secret"), "secret")
	testkit.WriteFile(t, filepath.Join(c.dir, "cookie-secret"), strings.Repeat("c", 32)+"\n")
	sign := exec.Command("sh", "-c", docBlock(t, "sign-in.md", "sh", "export OAUTH2_PROXY", "oauth2-proxy --http", "exec "+program+" --http",
		"127.0.0.1:4180", c.oauth, "https://login.example.com/realms/staff", c.URL))
	sign.Dir = c.dir
	runBeside(t, sign)
	for _, address := range []string{c.forms, c.oauth} {
		awaitListener(t, address)
	}
	return c
}

// nginx runs the nginx of the document.
func (c *company) nginx(t *testing.T) (address string) {
	t.Helper()
	address = fmt.Sprint("127.0.0.1:", freePort(t))
	runNginx(t, address, docBlock(t, "sign-in.md", "nginx", "map ",
		"listen 443 ssl", "listen "+address+" ssl", "127.0.0.1:8080", c.forms, "127.0.0.1:4180", c.oauth,
		"/etc/ssl/formulary/fullchain.pem", c.certificate.cert, "/etc/ssl/formulary/privkey.pem", c.certificate.key))
	return address
}

// runNginx runs nginx with a configuration, which listens on the address, until the test ends.
func runNginx(t *testing.T, address, conf string) {
	t.Helper()
	dir := t.TempDir()
	main := "daemon off;\npid pid;\nevents {}\nhttp {\n"
	if os.Geteuid() == 0 {
		main = "user root;\n" + main
	}
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		main += kind + "_temp_path " + kind + ";\n"
	}
	testkit.WriteFile(t, filepath.Join(dir, "nginx.conf"), main+conf+"}\n")
	runBeside(t, exec.Command(findNginx(t), "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-e", "stderr"))
	awaitListener(t, address)
}

// caddy runs the Caddy of the document.
func (c *company) caddy(t *testing.T) (address string) {
	t.Helper()
	return runCaddy(t, docBlock(t, "sign-in.md", "caddy", "forms.example.com {", "forms.example.com {",
		"forms.example.com {\n\ttls "+c.certificate.cert+" "+c.certificate.key, "127.0.0.1:8080", c.forms, "127.0.0.1:4180", c.oauth))
}

// runCaddy runs Caddy with a configuration until the test ends, and returns where it listens.
func runCaddy(t *testing.T, conf string) (address string) {
	t.Helper()
	dir, port := t.TempDir(), fmt.Sprint(freePort(t))
	testkit.WriteFile(t, filepath.Join(dir, "Caddyfile"), "{\n\tadmin off\n\tauto_https disable_redirects\n\thttps_port "+port+"\n}\n"+conf)
	cmd := exec.Command("caddy", "run", "--config", filepath.Join(dir, "Caddyfile"), "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	runBeside(t, cmd)
	address = "127.0.0.1:" + port
	awaitListener(t, address)
	return address
}

// The examples of docs/sign-in.md, with a real oauth2-proxy, nginx and Caddy.
func TestSignInByAProxy(t *testing.T) {
	t.Parallel()
	c := startCompany(t)
	t.Run("nginx", func(t *testing.T) { c.testSignIn(t, c.nginx(t)) })
	t.Run("caddy", func(t *testing.T) { c.testSignIn(t, c.caddy(t)) })
}

// visitor is a browser with cookies, behind the proxy.
type visitor struct {
	*http.Client
	t *testing.T
}

func (c *company) visitor(t *testing.T, address string) visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	v := visitor{c.certificate.client(address, ""), t}
	v.Jar = jar
	transport := v.Transport.(*http.Transport)
	proxied := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
		if strings.HasPrefix(to, "forms.example.com:") {
			return proxied(ctx, network, to)
		}
		return (&net.Dialer{}).DialContext(ctx, network, to)
	}
	return v
}

// ask sends a request, and returns the answer and the address that redirects have led to.
func (v visitor) ask(method, path, body string, header ...string) (r response, at string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, nginxURL+path, strings.NewReader(body))
	must(v.t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := v.Do(req)
	if err != nil {
		v.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(resp.Body)
	must(v.t, err)
	return response{resp.StatusCode, resp.Header, string(content)}, resp.Request.URL.String()
}

func (v visitor) want(status int, text, method, path, body string, header ...string) {
	v.t.Helper()
	if r, at := v.ask(method, path, body, header...); r.status != status || !strings.Contains(r.body, text) {
		v.t.Errorf("%s %s %q: %d at %s, without %q: %s", method, path, header, r.status, at, text, r.body)
	}
}

func (c *company) testSignIn(t *testing.T, address string) {
	const form, api = "/page/1/form/note", "/rest/forms/1.0/page/1/form/note"
	send := []string{"Content-Type", "application/json"}
	forged := []string{"X-Auth-Request-Email", "mallory@example.com", "X-Auth-Request-Groups", "hr"}
	alice := c.visitor(t, address)

	// Before the sign-in.
	for _, header := range [][]string{nil, forged} {
		alice.want(401, `"status":401`, "GET", api, "", header...)
		alice.want(401, `"status":401`, "POST", api+"/submission", note("x"), append(send, header...)...)
		alice.want(401, "You are not signed in", "POST", form, "", header...)
		alice.want(401, "Open in a new tab", "GET", "/embed"+form, "", header...)
		alice.want(200, "formulary", "GET", "/embed.js", "", header...)
		alice.want(404, "", "GET", "/metrics", "", header...)
	}

	// The sign-in leads to the page that was asked for.
	c.signsIn("alice@example.com")
	r, at := alice.ask("GET", form+"?a=1&b=2", "", forged...)
	if r.status != 200 || at != nginxURL+form+"?a=1&b=2" || !strings.Contains(r.body, "<bdi>alice@example.com</bdi>") {
		t.Fatalf("after the sign-in: %d at %s: %s", r.status, at, r.body)
	}
	for _, header := range [][]string{nil, forged} {
		alice.want(200, "<bdi>alice@example.com</bdi>", "GET", "/", "", header...)
		alice.want(200, "alice@example.com", "GET", "/embed"+form, "", header...)
		alice.want(404, "", "GET", "/page/2", "", header...) // of a group that she is not in
		alice.want(201, `"alice@example.com"`, "POST", api+"/submission", note("x"), append(send, header...)...)
	}
	alice.want(201, "", "POST", api+"/submission", note("x"), append(send, "Origin", nginxURL)...)
	alice.want(403, "on behalf of another site", "POST", api+"/submission", note("x"), append(send, "Origin", "https://evil.example")...)
	alice.want(403, "on behalf of another site", "POST", form, "", "Sec-Fetch-Site", "cross-site")

	// Groups, also those of somebody else.
	c.signsIn("carol@example.com", "staff", "hr")
	carol := c.visitor(t, address)
	carol.want(200, "<bdi>carol@example.com</bdi>", "GET", "/page/2", "")
	carol.want(200, "pay", "GET", "/rest/forms/1.0/page/2/form", "")

	// The sign-out is that of the link on each page.
	c.signsIn("dave@example.com")
	page, _ := alice.ask("GET", "/", "")
	out := regexp.MustCompile(`<a href="([^"]+)" data-sign-out>`).FindStringSubmatch(page.body)
	if out == nil {
		t.Fatalf("no link to sign out: %s", page.body)
	}
	alice.want(200, "<bdi>dave@example.com</bdi>", "GET", out[1], "") // on to the home page, and thus to the next sign-in
}
