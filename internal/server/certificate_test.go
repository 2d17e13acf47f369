package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// pair is a certificate with its key. Each has its own serial number.
type pair struct{ cert, key []byte }

func newPair(t *testing.T, serial int64) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(serial),
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	keyBytes, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	return pair{
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyBytes}),
	}
}

func (p pair) write(t *testing.T, dir string) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeChanged(t, certFile, p.cert)
	writeChanged(t, keyFile, p.key)
	return certFile, keyFile
}

func (p pair) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(p.cert)
	return pool
}

// written counts the writes. Each has a modification time a second after the last,
// since the clock of the file system may be coarse.
var written atomic.Int64

// writeChanged writes a file such that its modification time differs from that of
// every earlier write.
func writeChanged(t *testing.T, file string, content []byte) {
	t.Helper()
	testkit.WriteFile(t, file, string(content))
	changed := time.Unix(1_700_000_000+written.Add(1), 0)
	must(t, os.Chtimes(file, changed, changed))
}

func serialOf(t *testing.T, c *certificate) int64 {
	t.Helper()
	cert, err := c.get(nil)
	must(t, err)
	return cert.Leaf.SerialNumber.Int64()
}

// loadFirst makes certificate 1 in a folder, and loads it.
func loadFirst(t *testing.T, dir string) (*certificate, *logBuffer) {
	t.Helper()
	certFile, keyFile := newPair(t, 1).write(t, dir)
	logger, log := newLog()
	c, err := loadCertificate(certFile, keyFile, logger)
	must(t, err)
	return c, log
}

// The time is that of the bubble.
func TestCertificateFollowsItsFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		c, log := loadFirst(t, dir)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { c.watcher.Run(ctx); close(ended) }()
		want := func(when string, serial int64, reloads, failures int) {
			t.Helper()
			time.Sleep(2 * time.Second)
			synctest.Wait()
			testkit.Same(t, when+": certificate", serialOf(t, c), serial)
			testkit.Same(t, when, len(log.lines(t, "TLS certificate reloaded")), reloads)
			testkit.Same(t, when, strings.Count(log.String(), "what was read last stays in force"), failures)
		}
		want("at first", 1, 0, 0)
		newPair(t, 2).write(t, dir)
		want("changed", 2, 1, 0)

		third := newPair(t, 3)
		writeChanged(t, c.certFile, third.cert)
		want("half of a pair", 2, 1, 1)
		writeChanged(t, c.keyFile, third.key)
		want("the other half", 3, 2, 1)

		must(t, os.Remove(c.keyFile))
		must(t, syscall.Mkfifo(c.keyFile, 0o600)) // a read would wait for its writer
		want("a pipe", 3, 2, 2)
		must(t, os.Remove(c.keyFile))
		writeChanged(t, c.keyFile, []byte("nonsense"))
		want("nonsense", 3, 2, 3)
		newPair(t, 4).write(t, dir)
		want("mended", 4, 3, 3)
		if strings.Contains(log.String(), "nonsense") || strings.Contains(log.String(), "PRIVATE") {
			t.Errorf("a key is in the log: %s", log)
		}
		stop()
		<-ended
	})
}

var must = testkit.Must

// Reload has the certificate read at once, also if its files seem unchanged.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	logger, _ := newLog()
	certFile, keyFile := newPair(t, 1).write(t, dir)
	s, err := New(Options{Listen: "127.0.0.1:0", TLSCert: certFile, TLSKey: keyFile, Logger: logger})
	must(t, err)
	defer s.listener.Close()
	stamp := time.Unix(1_600_000_000, 0)
	for serial := int64(2); serial <= 3; serial++ {
		newPair(t, serial).write(t, dir)
		must(t, errors.Join(os.Chtimes(certFile, stamp, stamp), os.Chtimes(keyFile, stamp, stamp)))
		s.Reload(t.Context())
		testkit.Same(t, "certificate", serialOf(t, s.certificate), serial)
	}
}

func TestBadCertificatesAreRefusedAtStart(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := newPair(t, 1).write(t, dir)
	other := filepath.Join(dir, "other.pem")
	writeChanged(t, other, newPair(t, 2).key)
	for name, opts := range map[string]Options{
		"another's key":      {TLSCert: certFile, TLSKey: other},
		"no such file":       {TLSCert: filepath.Join(dir, "none.pem"), TLSKey: keyFile},
		"only a certificate": {TLSCert: certFile},
		"only a key":         {TLSKey: keyFile},
	} {
		opts.Listen, opts.Handler = "127.0.0.1:0", http.NotFoundHandler()
		_, err := New(opts)
		var certErr *CertificateError
		if !errors.As(err, &certErr) || !strings.Contains(err.Error(), opts.TLSCert) || !strings.Contains(err.Error(), opts.TLSKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	first := newPair(t, 1)
	certFile, keyFile := first.write(t, dir)
	logger, log := newLog()
	s := start(t, Options{TLSCert: certFile, TLSKey: keyFile, Logger: logger, Handler: http.NotFoundHandler()})
	if !strings.HasPrefix(s.URL(), "https://127.0.0.1:") {
		t.Errorf("URL %s", s.URL())
	}

	serial := func() int64 {
		conn, err := tls.Dial("tcp", s.Addr(), &tls.Config{InsecureSkipVerify: true})
		must(t, err)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	testkit.Same(t, "certificate", serial(), 1)
	newPair(t, 2).write(t, dir)
	testkit.Eventually(t, "the new certificate is used", func() bool { return serial() == 2 })

	old := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if conn, err := tls.Dial("tcp", s.Addr(), old); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is spoken")
	}
	testkit.Eventually(t, "the failed handshake is in the log", func() bool {
		return strings.Contains(log.String(), "TLS handshake error")
	})
	for line := range bytes.Lines([]byte(log.String())) {
		if bytes.Contains(line, []byte("handshake")) && !bytes.Contains(line, []byte(`"level":"DEBUG"`)) {
			t.Errorf("loud handshake error: %s", line)
		}
	}
}
