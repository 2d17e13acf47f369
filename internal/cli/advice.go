package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/server"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/store/sqlite"
)

// advise adds to an error which flag or command helps. The layers below say
// what is wrong; they know nothing of the command line.
func advise(err error) error {
	var usersFile *auth.UsersFileError
	var certificate *server.CertificateError
	var network *net.OpError
	switch {
	case errors.Is(err, sqlite.ErrInUse):
		return fmt.Errorf("%w: stop it, or choose another --data", err)
	case errors.Is(err, sqlite.ErrOccupied):
		return fmt.Errorf("%w. Move it away, or choose another --data", err)
	case errors.Is(err, service.ErrOtherKey):
		return fmt.Errorf("%w. If it is lost, start once with --new-anonymous-key; "+
			"then everybody may submit once more to anonymous forms", err)
	case errors.As(err, &usersFile) && errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w (create it with: formulary passwd %s USER)", err, usersFile.File)
	case usersFile != nil && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w (let the user that formulary runs as read it)", err)
	case errors.As(err, &certificate):
		return fmt.Errorf("%w (--tls-cert wants a PEM file with the certificate and its chain, "+
			"--tls-key one with its key)", err)
	case errors.As(err, &network) && network.Op == "listen":
		return fmt.Errorf("%w (%s)", err, listenAdvice(err))
	default:
		return err
	}
}

func listenAdvice(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "another process listens there: stop it, or choose another address with --listen"
	case errors.Is(err, syscall.EACCES):
		return "ports below 1024 are privileged: choose another with --listen, or grant CAP_NET_BIND_SERVICE"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "this machine has no such address: choose another with --listen"
	default:
		return "--listen wants host:port, such as 127.0.0.1:8080"
	}
}

const clearTextWarning = "TLS IS OFF on an address that others can reach: passwords and answers travel in the clear. " +
	"Give --tls-cert and --tls-key, or listen on 127.0.0.1 behind a proxy that does TLS. " +
	"Ignore this only where nothing but such a proxy can connect."
