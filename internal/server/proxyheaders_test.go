package server

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"
)

// Only trusted proxies may send what the handler believes.
func TestProxyHeaders(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, test := range []struct {
		name, peer string
		proxies    []netip.Prefix
		kept       bool
	}{
		{"a trusted proxy", "10.0.0.1:99", trusted, true},
		{"a client that says it is behind a proxy", "192.0.2.1:99", trusted, false},
		{"no IP address", "@", trusted, false},
		{"no trusted proxies", "10.0.0.1:99", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got http.Header
			c := newTestChain(Options{
				TrustedProxies: test.proxies, ProxyHeaders: []string{"x-user", "X-Groups"},
				Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }),
			})
			for range 3 {
				r := httptest.NewRequest("GET", "/", nil)
				r.RemoteAddr = test.peer
				r.Header = http.Header{"X-User": {"", "alice"}, "X-Groups": {"hr"}, "X-Other": {"o"}, "X-Forwarded-For": {"10.0.0.1"}}
				c.serve(r)
				want := []string{"", "alice"}
				if !test.kept {
					want = nil
				}
				if !slices.Equal(got["X-User"], want) || got.Get("X-Groups") == "hr" != test.kept || got.Get("X-Other") != "o" {
					t.Errorf("the handler gets %v", got)
				}
			}
			lines := c.log.lines(t, "a header is ignored because its sender is no trusted proxy")
			if test.kept == (len(lines) > 0) || len(lines) > 1 || len(lines) == 1 && lines[0]["sender"] != test.peer {
				t.Errorf("log: %v", lines)
			}
		})
	}
}
