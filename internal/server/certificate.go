package server

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/formulary/formulary/internal/reload"
)

// certificate is a key pair that is loaded again when its files change, so that a
// renewed certificate needs no restart.
type certificate struct {
	certFile, keyFile string
	logger            *slog.Logger
	watcher           *reload.Watcher
	current           atomic.Pointer[tls.Certificate]
}

func loadCertificate(certFile, keyFile string, logger *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, logger: logger}
	look := func() reload.State { return reload.Stats(certFile, keyFile) }
	c.watcher = reload.New("TLS certificate and its key", logger, look, c.load)
	if err := c.load(nil, true); err != nil {
		return nil, &CertificateError{err}
	}
	return c, nil
}

// CheckCertificate returns an error if there is a certificate that can't be used.
func (o *Options) CheckCertificate() error {
	if o.TLSCert == "" {
		return nil
	}
	_, err := loadCertificate(o.TLSCert, o.TLSKey, o.Logger)
	return err
}

// get is tls.Config.GetCertificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.current.Load(), nil
}

// load reads both files. A pair that can't be used does not replace the old one.
func (c *certificate) load(reload.State, bool) error {
	pair, err := readKeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("load TLS certificate %s with key %s: %w", c.certFile, c.keyFile, err)
	}
	before := c.current.Swap(&pair)
	if before != nil && !slices.EqualFunc(before.Certificate, pair.Certificate, bytes.Equal) {
		c.logger.Info("TLS certificate reloaded", "file", c.certFile)
	}
	return nil
}

// maxPEM is far above what a chain of certificates takes.
const maxPEM = 1 << 20

// readKeyPair is tls.LoadX509KeyPair, but does not block on a pipe or a device, and
// limits the size.
func readKeyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := reload.ReadFile(certFile, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := reload.ReadFile(keyFile, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}
