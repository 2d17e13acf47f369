package cli

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/formulary/formulary/internal/server"
)

// adviseOnStart adds to an error of server.New which flags to change.
func adviseOnStart(err error) error {
	var listen *server.ListenError
	var certificate *server.CertificateError
	switch {
	case errors.As(err, &certificate):
		return fmt.Errorf("%w (--tls-cert wants a PEM file with the certificate and its chain, --tls-key one with its key)", err)
	case !errors.As(err, &listen):
		return err
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w (another process listens there: stop it, or choose another address with --listen)", err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%w (ports below 1024 are privileged: choose another with --listen, or grant CAP_NET_BIND_SERVICE)", err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%w (this machine has no such address: choose another with --listen)", err)
	default:
		return fmt.Errorf("%w (--listen wants host:port, such as 127.0.0.1:8080)", err)
	}
}

const clearTextWarning = "TLS IS OFF on an address that others can reach: passwords travel in the clear. " +
	"Give --tls-cert and --tls-key, or listen on 127.0.0.1 behind a proxy that does TLS. " +
	"Ignore this only where nothing but such a proxy can connect."
