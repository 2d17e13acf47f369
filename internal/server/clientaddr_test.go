package server

import (
	"crypto/tls"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func TestClientAddress(t *testing.T) {
	proxies := trustedProxies{
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("fd00::/8"),
		netip.MustParsePrefix("fe80::/10"),
	}
	for line := range strings.Lines(clientAddresses) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), " | ") // what it is, peer, client, lines of the header
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = columns[1]
		if len(columns) > 3 {
			r.Header["X-Forwarded-For"] = columns[3:]
		}
		proxies.resolve(r)
		testkit.Same(t, columns[0], r.RemoteAddr, columns[2])
	}
}

const clientAddresses = `no header | 10.0.0.1:99 | 10.0.0.1:99
peer not trusted | 192.0.2.1:99 | 192.0.2.1:99 | 198.51.100.7
one entry | 10.0.0.1:99 | 198.51.100.7:0 | 198.51.100.7
client made up the left part | 10.0.0.1:99 | 198.51.100.7:0 | 1.1.1.1, 198.51.100.7
trusted ones are skipped | 10.0.0.1:99 | 198.51.100.7:0 | 1.1.1.1, 198.51.100.7, 10.2.3.4,10.9.9.9
lines are joined | 10.0.0.1:99 | 198.51.100.7:0 | 1.1.1.1 | 198.51.100.7 | 10.2.3.4
all trusted: the left-most | 10.0.0.1:99 | 10.5.5.5:0 | 10.5.5.5, 10.2.3.4
malformed ends the walk | 10.0.0.1:99 | 10.2.3.4:0 | 198.51.100.7, unknown, 10.2.3.4
malformed at once | 10.0.0.1:99 | 10.0.0.1:99 | 198.51.100.7, <script>
empty entry | 10.0.0.1:99 | 10.0.0.1:99 | 198.51.100.7,
empty header | 10.0.0.1:99 | 10.0.0.1:99 | ` + `
with ports | 10.0.0.1:99 | 198.51.100.7:1234 | 198.51.100.7:1234, 10.2.3.4:80
IPv6 | [fd00::1]:99 | [2001:db8::7]:0 | 2001:db8::7
IPv6 with port | [fd00::1]:99 | [2001:db8::7]:443 | [2001:db8::7]:443
mapped peer | [::ffff:10.0.0.1]:99 | 198.51.100.7:0 | 198.51.100.7
mapped entry | 10.0.0.1:99 | 198.51.100.7:0 | 198.51.100.7, ::ffff:10.2.3.4
mapped client | 10.0.0.1:99 | 198.51.100.7:0 | ::ffff:198.51.100.7
zone of the peer | [fe80::1%eth0]:99 | 198.51.100.7:0 | 198.51.100.7
zones are dropped | 10.0.0.1:99 | [2001:db8::7]:0 | 2001:db8::7%evil text
no IP peer | @ | @ | 198.51.100.7
`

func TestScheme(t *testing.T) {
	proxies := trustedProxies{netip.MustParsePrefix("10.0.0.0/8")}
	for line := range strings.Lines(`in the clear | 192.0.2.1:99 | http
TLS | 192.0.2.1:99 | https
trusted proxy | 10.0.0.1:99 | https | https
trusted proxy without TLS | 10.0.0.1:99 | http | http
the proxy's line counts | 10.0.0.1:99 | http | https | http
peer not trusted | 192.0.2.1:99 | http | https
absolute target | 192.0.2.1:99 | http
`) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), " | ") // what it is, peer, scheme, lines of the header
		r := httptest.NewRequest("GET", "/", nil)
		if columns[0] == "absolute target" {
			r = httptest.NewRequest("GET", "https://example.org/", nil)
		}
		r.RemoteAddr, r.TLS = columns[1], nil
		if columns[0] == "TLS" {
			r.TLS = &tls.ConnectionState{}
		}
		r.Header["X-Forwarded-Proto"] = columns[3:]
		proxies.resolve(r)
		testkit.Same(t, columns[0], r.URL.Scheme, columns[2])
	}
}
