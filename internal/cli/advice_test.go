package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/server"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/store/sqlite"
	"github.com/formulary/formulary/internal/testkit"
)

func TestAdvice(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.pem")
	_, certificate := server.New(server.Options{Listen: "127.0.0.1:0", Handler: http.NotFoundHandler(), TLSCert: none, TLSKey: none})
	_, malformed := server.New(server.Options{Listen: "8080", Handler: http.NotFoundHandler()})
	for _, tt := range []struct {
		err    error
		advice []string
	}{
		{fmt.Errorf("data directory d %w", sqlite.ErrInUse), []string{": stop it, or choose another --data"}},
		{fmt.Errorf("d/formulary.db %w", sqlite.ErrOccupied), []string{". Move it away, or choose another --data"}},
		{fmt.Errorf("d/anonymous.key is missing: %w", service.ErrOtherKey), []string{"start once with --new-anonymous-key"}},
		{&configError{&auth.UsersFileError{File: "people", Err: fs.ErrNotExist}, false}, []string{"(create it with: formulary passwd people USER)"}},
		{&configError{&auth.UsersFileError{File: "people", Err: fs.ErrPermission}, false}, []string{"(let the user that formulary runs as read it)"}},
		{certificate, []string{"--tls-cert", "--tls-key"}},
		{malformed, []string{"--listen wants host:port"}},
		{&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}, []string{"another process", "--listen"}},
		{&net.OpError{Op: "listen", Err: syscall.EACCES}, []string{"1024", "--listen", "CAP_NET_BIND_SERVICE"}},
		{&net.OpError{Op: "listen", Err: syscall.EADDRNOTAVAIL}, []string{"no such address", "--listen"}},
	} {
		got := advise(tt.err)
		added, unchanged := strings.CutPrefix(got.Error(), tt.err.Error())
		if !errors.Is(got, tt.err) || !unchanged {
			t.Errorf("%q became %q", tt.err, got)
		}
		for _, want := range tt.advice {
			testkit.Contains(t, tt.err, added, want)
		}
	}
	if other := errors.New("other"); advise(other) != other { //nolint:errorlint // it must be the very same
		t.Error("another error is changed")
	}
	if advise(nil) != nil {
		t.Error("advice without an error")
	}
}

// untilServing collects a log, and calls stop when the server serves.
type untilServing struct {
	log  bytes.Buffer
	stop func()
}

func (u *untilServing) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("msg=serving")) {
		defer u.stop()
	}
	return u.log.Write(p)
}

func TestWarnsWhenPasswordsTravelInTheClear(t *testing.T) {
	for listen, want := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stderr := &untilServing{stop: cancel}
		args := serveArgs(t, "--listen", listen)
		testkit.Same(t, listen, Run(ctx, append([]string{"formulary"}, args...), Streams{In: strings.NewReader(""), Out: io.Discard, Err: stderr}), 0)
		log := stderr.log.String()
		if got := strings.Contains(log, "level=WARN msg=\"TLS IS OFF") && strings.Contains(log, "--tls-cert"); got != want {
			t.Errorf("%s: warned %v, want %v: %s", listen, got, want, log)
		}
	}
}
