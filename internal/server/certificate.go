package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formulary/formulary/internal/watch"
)

// certificateInterval is how often handshakes look for a new certificate.
// Looking is two stat calls, so a second costs nothing and feels immediate.
const certificateInterval = time.Second

// certificate is a key pair that follows its files, because certificates are
// renewed every few weeks and nobody remembers to restart.
type certificate struct {
	certFile, keyFile string
	logger            *slog.Logger
	now               func() time.Time
	read              func(certFile, keyFile string) (tls.Certificate, error)

	current atomic.Pointer[tls.Certificate]

	mu      sync.Mutex // guards what follows
	checked time.Time
	loaded  [2]fileState // as of what is current
	refused [2]fileState // as of the last warning
}

// fileState tells whether a file has changed.
type fileState struct {
	size, modified int64
	missing        bool
}

func loadCertificate(certFile, keyFile string, logger *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, logger: logger, now: time.Now, read: readKeyPair}
	c.checked = c.now()
	c.loaded = c.look() // before reading: a change in between is a change to come
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

// refresh loads the files if they have changed. A pair that can't be used
// leaves the old one in place and is tried again each time, since not every
// reason shows in the files: one may not be readable yet, or too many files
// may be open. It is told once for what is seen.
func (c *certificate) refresh() {
	if !c.mu.TryLock() {
		return // another handshake is looking, and this one needn't wait for it
	}
	defer c.mu.Unlock()
	now := c.now()
	if now.Sub(c.checked) < certificateInterval {
		return
	}
	c.checked = now
	if seen := c.look(); seen != c.loaded {
		c.replace(seen)
	}
}

// reload loads the files, whether or not they seem to have changed, and tells
// in any case how that went.
func (c *certificate) reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = [2]fileState{}
	c.replace(c.look())
}

// replace loads the files that were seen, or leaves the old pair in place.
func (c *certificate) replace(seen [2]fileState) {
	if err := c.load(); err != nil {
		if seen != c.refused {
			c.logger.Warn("the TLS certificate has changed and can't be used; the old one stays", "error", err)
		}
		c.refused = seen
		return
	}
	c.loaded, c.refused = seen, [2]fileState{}
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

// readKeyPair is tls.LoadX509KeyPair for files that may be anything by now.
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

func (c *certificate) look() [2]fileState {
	return [2]fileState{stateOf(c.certFile), stateOf(c.keyFile)}
}

func stateOf(file string) fileState {
	info, err := os.Stat(file)
	if err != nil {
		return fileState{missing: true}
	}
	return fileState{size: info.Size(), modified: info.ModTime().UnixNano()}
}
