package wiki_test

import (
	"bufio"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/wiki"
)

// Errors of connections go to the log: they say what is wrong, but not where, and
// have no part of an answer.
func TestConnectionErrors(t *testing.T) {
	garbage, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	t.Cleanup(func() { _ = garbage.Close() })
	go func() {
		for {
			connection, err := garbage.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(connection))
			_, _ = connection.Write([]byte("secret 127.0.0.1\r\n\r\n"))
			_ = connection.Close()
		}
	}()
	untrusted := httptest.NewUnstartedServer(nil)
	untrusted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	for address, want := range map[string]string{
		"http://a..b/secret":                      "the name of its host can't be resolved",
		"http://127.0.0.1:1/secret":               "connection refused",
		"http://" + garbage.Addr().String() + "/": "the connection failed",
		untrusted.URL:                             "its certificate is not trusted",
	} {
		w, err := wiki.Open(wiki.Options{Address: "confluence+" + address, Logger: slog.New(slog.DiscardHandler)})
		testkit.Must(t, err)
		err = w.Ready(t.Context())
		var unavailable *wiki.UnavailableError
		if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", address, err, want)
			continue
		}
		for _, part := range []string{"127.0.0.1", "a..b", "secret", "example.com"} {
			if strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error %q contains %q", address, err, part)
			}
		}
	}
}

// The sign-in of Confluence Data Center leads back to its page. Cloud's cookies stay there.
func TestSignInOfConfluence(t *testing.T) {
	for address, want := range map[string]string{
		"confluence+https://wiki.example/c":             "https://wiki.example/c/login.action?os_destination=%2Fpages%2Fviewpage.action%3FpageId%3D7",
		"confluence-cloud+https://x.atlassian.net/wiki": "",
		"mediawiki+https://wiki.example/w/api.php":      "https://wiki.example/w/index.php?returnto=Special%3ARedirect%2Fpage%2F7&title=Special%3AUserLogin",
	} {
		w, err := wiki.Open(wiki.Options{Address: address, Logger: slog.New(slog.DiscardHandler)})
		testkit.Must(t, err)
		testkit.Same(t, address, w.SignInURL(7), want)
	}
}
