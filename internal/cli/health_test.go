package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func TestHealth(t *testing.T) {
	var status atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		testkit.Same(t, "asked for", r.URL.Path, "/readyz")
		w.WriteHeader(int(status.Load()))
	}))
	defer server.Close()
	for _, tt := range []struct {
		status, code int
		args         []string
		want         string
	}{
		{200, 0, []string{server.URL}, "ready\n"},
		{200, 0, []string{server.URL + "/"}, "ready\n"},
		{503, 1, []string{server.URL}, "it answers 503"},
		{200, 1, []string{"http://127.0.0.1:1"}, "127.0.0.1:1 is not ready: "},
		{200, 2, []string{"127.0.0.1:8080"}, "use a URL such as"},
		{200, 2, []string{"a", "b"}, "health takes one URL"},
	} {
		status.Store(int64(tt.status))
		if code, said := run(t.Context(), append([]string{"health"}, tt.args...)...); code != tt.code || !strings.Contains(said, tt.want) {
			t.Errorf("%v: status %d, want %d with %q: %s", tt.args, code, tt.code, tt.want, said)
		}
	}
	t.Setenv("FORMULARY_LISTEN", strings.TrimPrefix(server.URL, "http://"))
	status.Store(200)
	if code, said := run(t.Context(), "health"); code != 0 {
		t.Errorf("without a URL: status %d: %s", code, said)
	}
}

func TestLocalAddress(t *testing.T) {
	for listen, want := range map[string]string{
		"": "127.0.0.1:8080", ":8080": "127.0.0.1:8080", "0.0.0.0:90": "127.0.0.1:90", "[::]:90": "127.0.0.1:90",
		"192.0.2.1:90": "192.0.2.1:90", "[::1]:90": "[::1]:90", "nonsense": "127.0.0.1:8080",
	} {
		testkit.Same(t, listen, localAddress(listen), want)
	}
}
