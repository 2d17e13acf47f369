package server

import (
	"crypto/tls"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestClientAddress(t *testing.T) {
	proxies := trustedProxies{
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("fd00::/8"),
		netip.MustParsePrefix("fe80::/10"),
	}
	for _, test := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"no header", "10.0.0.1:99", nil, "10.0.0.1:99"},
		{"peer not trusted", "192.0.2.1:99", []string{"198.51.100.7"}, "192.0.2.1:99"},
		{"one entry", "10.0.0.1:99", []string{"198.51.100.7"}, "198.51.100.7:0"},
		{"client made up the left part", "10.0.0.1:99", []string{"1.1.1.1, 198.51.100.7"}, "198.51.100.7:0"},
		{"trusted ones are skipped", "10.0.0.1:99", []string{"1.1.1.1, 198.51.100.7, 10.2.3.4,10.9.9.9"}, "198.51.100.7:0"},
		{"lines are joined", "10.0.0.1:99", []string{"1.1.1.1", "198.51.100.7", "10.2.3.4"}, "198.51.100.7:0"},
		{"all trusted: the left-most", "10.0.0.1:99", []string{"10.5.5.5, 10.2.3.4"}, "10.5.5.5:0"},
		{"malformed ends the walk", "10.0.0.1:99", []string{"198.51.100.7, unknown, 10.2.3.4"}, "10.2.3.4:0"},
		{"malformed at once", "10.0.0.1:99", []string{"198.51.100.7, <script>"}, "10.0.0.1:99"},
		{"empty entry", "10.0.0.1:99", []string{"198.51.100.7,"}, "10.0.0.1:99"},
		{"empty header", "10.0.0.1:99", []string{""}, "10.0.0.1:99"},
		{"with ports", "10.0.0.1:99", []string{"198.51.100.7:1234, 10.2.3.4:80"}, "198.51.100.7:1234"},
		{"IPv6", "[fd00::1]:99", []string{"2001:db8::7"}, "[2001:db8::7]:0"},
		{"IPv6 with port", "[fd00::1]:99", []string{"[2001:db8::7]:443"}, "[2001:db8::7]:443"},
		{"mapped peer", "[::ffff:10.0.0.1]:99", []string{"198.51.100.7"}, "198.51.100.7:0"},
		{"mapped entry", "10.0.0.1:99", []string{"198.51.100.7, ::ffff:10.2.3.4"}, "198.51.100.7:0"},
		{"mapped client", "10.0.0.1:99", []string{"::ffff:198.51.100.7"}, "198.51.100.7:0"},
		{"zone of the peer", "[fe80::1%eth0]:99", []string{"198.51.100.7"}, "198.51.100.7:0"},
		{"zones are dropped", "10.0.0.1:99", []string{"2001:db8::7%evil text"}, "[2001:db8::7]:0"},
		{"no IP peer", "@", []string{"198.51.100.7"}, "@"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = test.peer
			if test.forwarded != nil {
				r.Header["X-Forwarded-For"] = test.forwarded
			}
			proxies.resolve(r)
			if r.RemoteAddr != test.want {
				t.Errorf("RemoteAddr %q, want %q", r.RemoteAddr, test.want)
			}
		})
	}
}

func TestScheme(t *testing.T) {
	proxies := trustedProxies{netip.MustParsePrefix("10.0.0.0/8")}
	for _, test := range []struct {
		name, peer, target string
		proto              []string
		tls                bool
		want               string
	}{
		{"in the clear", "192.0.2.1:99", "/", nil, false, "http"},
		{"TLS", "192.0.2.1:99", "/", nil, true, "https"},
		{"trusted proxy", "10.0.0.1:99", "/", []string{"https"}, false, "https"},
		{"trusted proxy without TLS", "10.0.0.1:99", "/", []string{"http"}, false, "http"},
		{"the proxy's line counts", "10.0.0.1:99", "/", []string{"https", "http"}, false, "http"},
		{"peer not trusted", "192.0.2.1:99", "/", []string{"https"}, false, "http"},
		{"absolute target", "192.0.2.1:99", "https://example.org/", nil, false, "http"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", test.target, nil)
			r.RemoteAddr, r.TLS = test.peer, nil
			if test.tls {
				r.TLS = &tls.ConnectionState{}
			}
			r.Header["X-Forwarded-Proto"] = test.proto
			proxies.resolve(r)
			if r.URL.Scheme != test.want {
				t.Errorf("scheme %q, want %q", r.URL.Scheme, test.want)
			}
		})
	}
}
