package events

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

const badHandshake = "the TLS handshake failed: check scheme, port and TLS version"

// hookOf makes a hook that may call a test server.
func hookOf(address string) *Hook {
	return &Hook{Name: "crm", url: address, secret: []byte("0123456789abcdef01234567"), allowPrivate: true}
}

func TestTestEvent(t *testing.T) {
	r := newReceiver(t, nil)
	hooks, err := LoadHooks(writeHooks(t, "hooks:\n"+r.hook("crm")))
	testkit.Must(t, err)
	if status, err := hooks[0].Test(t.Context()); err != nil || status != http.StatusNoContent {
		t.Fatal(err)
	}
	calls := r.got()
	if len(calls) != 1 || len(calls[0].ID) < 20 {
		t.Fatalf("got %v", calls)
	}
	timestamp, ok := strings.CutPrefix(calls[0].Body, `{"type":"test","timestamp":"`)
	timestamp, isEnd := strings.CutSuffix(timestamp, `","data":{}}`)
	if at, err := time.Parse(time.RFC3339, timestamp); !ok || !isEnd || err != nil || time.Since(at) > time.Minute || at.Location() != time.UTC {
		t.Errorf("body %s: %v", calls[0].Body, err)
	}
	r.answers(func(call) int { return http.StatusTeapot })
	if _, err := hooks[0].Test(t.Context()); err == nil || err.Error() != "answered 418" {
		t.Errorf("got %v", err)
	}
}

// TestHostileReceivers: whatever a receiver does, an attempt ends soon, with a phrase that
// shows nothing of it.
func TestHostileReceivers(t *testing.T) {
	var written atomic.Int64
	followed := newReceiver(t, nil)
	var stop chan struct{} // of the current test
	hang := func() { <-stop }
	hijack := func(w http.ResponseWriter, reply string) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, reply)
		_ = conn.(*net.TCPConn).SetLinger(0) // a reset
		_ = conn.Close()
	}
	const noAnswer = "the connection failed, or ended without an HTTP answer"
	for _, test := range []struct {
		name, want string
		handler    http.HandlerFunc
	}{
		{"ok", "", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }},
		{"any 2xx", "", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(299) }},
		{"error", "answered 500", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "leak", http.StatusInternalServerError)
		}},
		{"not modified", "answered 304", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }},
		{"gone", "answered 410", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }},
		{"redirect", "answered 307", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, followed.URL, http.StatusTemporaryRedirect)
		}},
		{"hang after 101", "answered 101", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "leak")
			w.WriteHeader(http.StatusSwitchingProtocols)
			_ = http.NewResponseController(w).Flush()
			hang()
		}},
		{"reset", noAnswer, func(w http.ResponseWriter, _ *http.Request) { hijack(w, "") }},
		{"no HTTP", noAnswer, func(w http.ResponseWriter, _ *http.Request) { hijack(w, "leak\r\n\r\n") }},
		{"large header", noAnswer, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("A", strings.Repeat("x", 100<<10)) }},
		{"hang", "no answer within 10 seconds", func(http.ResponseWriter, *http.Request) { hang() }},
		{"hang in the body", "", func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			hang()
		}},
		{"gigabyte", "", func(w http.ResponseWriter, _ *http.Request) {
			block := make([]byte, 1<<16)
			for range 1 << 14 {
				n, err := w.Write(block)
				if written.Add(int64(n)); err != nil {
					return
				}
			}
		}},
		{"compressed", "", func(_ http.ResponseWriter, r *http.Request) {
			testkit.Same(t, "asks for a compressed answer", r.Header.Get("Accept-Encoding"), "")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(test.handler)
			t.Cleanup(server.Close)
			limit := testkit.WaitLimit
			switch test.name {
			case "hang":
				limit = 100 * time.Millisecond
			case "hang in the body":
				limit = 2 * time.Second // the header must come in time
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			stop = make(chan struct{})
			t.Cleanup(func() { close(stop) })
			got := ""
			if _, err := hookOf(server.URL+"/leak").post(ctx, "id", payload{}); err != nil {
				got = err.Error()
			}
			testkit.Same(t, "got", got, test.want)
		})
	}
	if len(followed.got()) > 0 {
		t.Error("a redirect was followed")
	}
	if n := written.Load(); n > 32<<20 { // what buffers of the system take
		t.Errorf("%d bytes of an answer were sent", n)
	}
}

// TestHangingHandshake: a connection that never gets to be encrypted is closed.
func TestHangingHandshake(t *testing.T) {
	closed := make(chan error, 1)
	addr := listen(t, func(conn net.Conn) {
		_, err := io.Copy(io.Discard, conn)
		closed <- err
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+addr, http.NoBody)
	testkit.Must(t, err)
	response, err := newClient(&net.Dialer{Timeout: 50 * time.Millisecond}).Do(request)
	if err == nil {
		_ = response.Body.Close()
		t.Fatalf("got %v", response.Status)
	}
	<-closed
	for _, client := range []*http.Client{publicClient, anyClient} {
		testkit.Same(t, "the limit", client.Transport.(*http.Transport).TLSHandshakeTimeout, attemptTimeout)
	}
}

func TestNoConnection(t *testing.T) {
	encrypted := httptest.NewTLSServer(http.NotFoundHandler())
	defer encrypted.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	old.StartTLS()
	defer old.Close()
	for _, test := range []struct{ name, url, want string }{
		{"certificate", encrypted.URL, "its certificate is not trusted"},
		{"refused", "http://127.0.0.1:1", "connection refused"},
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), badHandshake},
		{"old TLS", old.URL, badHandshake},
		{"unknown host", "http://leak.invalid/", "host not found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := hookOf(test.url).Test(t.Context()); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestPrivateAddresses: they are not called unless the operator allows it, even if a name
// leads to them. A proxy could call them.
func TestPrivateAddresses(t *testing.T) {
	for _, client := range []*http.Client{publicClient, anyClient} {
		if client.Transport.(*http.Transport).Proxy != nil {
			t.Error("there is a proxy")
		}
	}
	r := newReceiver(t, nil)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(r.URL, "http://"))
	testkit.Must(t, err)
	for _, host := range []string{
		"127.0.0.1", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]", "localhost", "0.0.0.0", "169.254.169.254", "10.0.0.1", "192.168.1.1", "[fe80::1]", "[fd00::1]", "2130706433",
	} {
		hook := &Hook{url: "http://" + host + ":" + port, secret: []byte("0123456789abcdef01234567")}
		_, err := hook.Test(t.Context())
		if err == nil || (err.Error() != "the address is private: set allowPrivate: true" && host != "2130706433") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if len(r.got()) > 0 {
		t.Errorf("got %v", r.got())
	}
}

// TestClosedConnection: a receiver that closes an idle connection when the next event comes
// is called again at once.
func TestClosedConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	var connections atomic.Int64
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			requests := bufio.NewReader(conn)
			for answers := 1; ; answers-- {
				request, err := http.ReadRequest(requests)
				if err != nil || answers == 0 {
					break
				}
				_, _ = io.Copy(io.Discard, request.Body)
				_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
			}
			_ = conn.Close()
		}
	}()
	defer func() {
		anyClient.CloseIdleConnections()
		_ = listener.Close()
		<-served
	}()
	for i := range 3 {
		testkit.ErrorIs(t, i, testkit.ErrorOf(hookOf("http://"+listener.Addr().String()).Test(t.Context())), nil)
	}
	testkit.Same(t, "connections", connections.Load(), 3)
}
