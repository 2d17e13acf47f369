package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formulary/formulary/internal/watch"
)

// certificateInterval is how often handshakes look for a new certificate.
// That takes two stat calls, so once a second costs nothing.
const certificateInterval = time.Second

// certificate is a key pair that is reloaded when its files change, so that a
// renewed certificate needs no restart.
type certificate struct {
	certFile, keyFile string
	logger            *slog.Logger
	now               func() time.Time
	read              func(certFile, keyFile string) (tls.Certificate, error)

	current atomic.Pointer[tls.Certificate]

	mu      sync.Mutex // guards what follows
	checked time.Time
	loaded  versions // when the current pair was loaded
	warned  bool     // since the files could last be used
	refused versions // when that warning was logged
}

// versions are those of both files.
type versions struct{ cert, key watch.Version }

func (v versions) same(w versions) bool { return v.cert.Same(w.cert) && v.key.Same(w.key) }

func loadCertificate(certFile, keyFile string, logger *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, logger: logger, now: time.Now, read: readKeyPair}
	c.checked = c.now()
	c.loaded = c.versions() // before reading, so that a change in between is noticed later
	if err := c.load(); err != nil {
		return nil, &CertificateError{err}
	}
	return c, nil
}

// get is tls.Config.GetCertificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.refresh()
	return c.current.Load(), nil
}

// refresh loads the files if they have changed. If the pair can't be used, the old
// one stays, and the next call tries again, since the reason may pass without a
// change of the files: one may not be readable yet, or too many files may be open.
// It is logged once for each version of the files.
func (c *certificate) refresh() {
	if !c.mu.TryLock() {
		return // another handshake checks the files, and this one need not wait for it
	}
	defer c.mu.Unlock()
	now := c.now()
	if now.Sub(c.checked) < certificateInterval {
		return
	}
	c.checked = now
	if seen := c.versions(); !seen.same(c.loaded) {
		c.replace(seen)
	}
}

// reload loads the files, whether or not they seem to have changed, and logs the
// outcome in any case.
func (c *certificate) reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warned = false
	c.replace(c.versions())
}

// replace loads the files whose versions were seen. On failure the old pair stays.
func (c *certificate) replace(seen versions) {
	if err := c.load(); err != nil {
		if !c.warned || !seen.same(c.refused) {
			c.logger.Warn("the TLS certificate has changed and can't be used; the old one stays", "error", err)
		}
		c.warned, c.refused = true, seen
		return
	}
	c.loaded, c.warned = seen, false
	c.logger.Info("TLS certificate reloaded", "file", c.certFile)
}

func (c *certificate) load() error {
	pair, err := c.read(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("load TLS certificate %s with key %s: %w", c.certFile, c.keyFile, err)
	}
	c.current.Store(&pair)
	return nil
}

// maxPEM is far above what a chain of certificates takes.
const maxPEM = 1 << 20

// readKeyPair is tls.LoadX509KeyPair, but does not block on a pipe or a device, and
// limits the size.
func readKeyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, _, err := watch.ReadFile(certFile, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, _, err := watch.ReadFile(keyFile, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

func (c *certificate) versions() versions {
	return versions{watch.Stat(c.certFile), watch.Stat(c.keyFile)}
}
