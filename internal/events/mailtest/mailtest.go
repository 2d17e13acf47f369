// Package mailtest runs a real mail server for tests: mailpit, on loopback ports. It
// is built once per machine, by the module in tools/mailpit.
package mailtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// Options are what a test wants of the server. The zero value takes every mail, in
// clear text.
type Options struct {
	StartTLS       bool   // it offers STARTTLS
	TLS            bool   // it speaks TLS at once
	User, Password string // of the only account; without one, everybody may send
	Recipients     string // a regular expression of the addresses that it takes; "" for all
}

// Server is a mail server.
type Server struct {
	Addr string // host and port of SMTP
	CA   string // file with the certificate, which is its own authority (PEM); for SSL_CERT_FILE

	t      testing.TB
	api    string
	args   []string
	log    string
	daemon *testkit.Daemon // nil while it does not run
}

var program = sync.OnceValues(func() (string, error) {
	root, err := testkit.Root()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "tool", "-n", "mailpit")
	cmd.Dir = filepath.Join(root, "tools", "mailpit")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath") // the same in every test, so that it is built once
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build mailpit: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
})

// Start starts a server, which ends with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	mailpit, err := program()
	if err != nil {
		testkit.Missing(t, err)
	}
	dir := t.TempDir()
	s := &Server{t: t, CA: filepath.Join(dir, "cert.pem"), log: filepath.Join(dir, "log")}
	s.args = []string{mailpit, "--database", filepath.Join(dir, "mails"), "--smtp-disable-rdns", "--disable-version-check", "--verbose"}
	writeCertificate(t, dir)
	if o.StartTLS || o.TLS {
		s.args = append(s.args, "--smtp-tls-cert", s.CA, "--smtp-tls-key", filepath.Join(dir, "key.pem"))
	}
	if o.TLS {
		s.args = append(s.args, "--smtp-require-tls")
	}
	if o.User != "" {
		accounts := filepath.Join(dir, "accounts")
		testkit.WriteFile(t, accounts, o.User+":"+o.Password+"\n")
		s.args = append(s.args, "--smtp-auth-file", accounts)
		if !o.StartTLS && !o.TLS {
			s.args = append(s.args, "--smtp-auth-allow-insecure")
		}
	}
	if o.Recipients != "" {
		s.args = append(s.args, "--smtp-allowed-recipients", o.Recipients)
	}
	t.Cleanup(s.Stop)
	for range 5 { // another process may take a port first
		s.Addr, s.api = testkit.FreeAddress(t), testkit.FreeAddress(t)
		if s.start() {
			return s
		}
	}
	t.Fatalf("the mail server does not start\n%s", s.Log())
	return nil
}

// Restart starts the server again after Stop, at the same address and with its mails.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	if !s.start() {
		s.t.Fatalf("the mail server does not start again\n%s", s.Log())
	}
}

// start reports whether the server listens. Otherwise it has ended.
func (s *Server) start() bool {
	s.t.Helper()
	s.daemon = testkit.NewDaemon(s.log, s.args[0], append(s.args[1:len(s.args):len(s.args)], "--smtp", s.Addr, "--listen", s.api)...)
	s.daemon.Start(s.t)
	listening := false
	testkit.EventuallyWithin(s.t, time.Minute, "the mail server listens", func() bool {
		listening = testkit.Listens(s.Addr) && testkit.Listens(s.api)
		select {
		case <-s.daemon.Ended:
			listening, s.daemon = false, nil
			return true
		default:
			return listening
		}
	})
	return listening
}

// Stop ends the server.
func (s *Server) Stop() {
	if s.daemon != nil {
		s.daemon.Stop()
		s.daemon = nil
		testkit.Eventually(s.t, "the mail server ends", func() bool { return !testkit.Listens(s.Addr) && !testkit.Listens(s.api) })
	}
}

// Log is what the server has logged.
func (s *Server) Log() string {
	text, _ := os.ReadFile(s.log)
	return string(text)
}

// Mails returns the mails that were delivered, as they were sent, the oldest first.
func (s *Server) Mails() []string {
	s.t.Helper()
	var list struct{ Messages []struct{ ID string } }
	if err := json.Unmarshal(s.get("messages?limit=1000"), &list); err != nil {
		s.t.Fatal(err)
	}
	var mails []string
	for _, m := range slices.Backward(list.Messages) {
		mails = append(mails, string(s.get("message/"+m.ID+"/raw")))
	}
	return mails
}

func (s *Server) get(path string) []byte {
	s.t.Helper()
	res, err := http.Get("http://" + s.api + "/api/v1/" + path) //nolint:noctx // the server ends with the test
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.Log())
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s %v", path, res.Status, err)
	}
	return body
}

// writeCertificate writes a certificate for 127.0.0.1 and localhost, and its key.
func writeCertificate(t testing.TB, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, filepath.Join(dir, "cert.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	testkit.WriteFile(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
}
