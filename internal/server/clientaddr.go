package server

import (
	"net/http"
	"net/netip"
	"strings"
)

// trustedProxies are the networks whose X-Forwarded-For is trusted.
type trustedProxies []netip.Prefix

func newTrustedProxies(prefixes []netip.Prefix) trustedProxies {
	var proxies trustedProxies
	for _, p := range prefixes {
		// Addresses are compared unmapped, so prefixes have to be, too.
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		proxies = append(proxies, p)
	}
	return proxies
}

func (t trustedProxies) contains(addr netip.Addr) bool {
	for _, p := range t {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// resolve replaces r.RemoteAddr by the client's address if the peer is a
// trusted proxy that sent it. The form stays "IP:port", as net/http documents
// it. It sets r.URL.Scheme to "https" if the client uses TLS, with this server
// or with a trusted proxy, and to "http" if not.
func (t trustedProxies) resolve(r *http.Request) {
	r.URL.Scheme = "http" // a client may have sent any
	if r.TLS != nil {
		r.URL.Scheme = "https"
	}
	if len(t) == 0 {
		return
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !t.contains(plain(peer.Addr())) {
		return
	}
	if proto := r.Header["X-Forwarded-Proto"]; len(proto) > 0 && strings.EqualFold(proto[len(proto)-1], "https") {
		r.URL.Scheme = "https"
	}
	if client, ok := t.forwarded(r.Header["X-Forwarded-For"]); ok {
		r.RemoteAddr = client.String()
	}
}

// forwarded walks the list from its right end, where trusted proxies append, and
// stops at the first address that is not trusted: entries further left were
// written by that host and may be forged. A malformed entry stops the walk as
// well, with the last address before it.
func (t trustedProxies) forwarded(lines []string) (client netip.AddrPort, ok bool) {
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, more := lines[i], true; more; {
			entry := rest
			if comma := strings.LastIndexByte(rest, ','); comma >= 0 {
				rest, entry = rest[:comma], rest[comma+1:]
			} else {
				more = false
			}
			addr, valid := parseForwarded(strings.TrimSpace(entry))
			if !valid {
				return client, ok
			}
			client, ok = addr, true
			if !t.contains(addr.Addr()) {
				return client, ok
			}
		}
	}
	return client, ok
}

// parseForwarded takes an address with or without a port: some proxies add it.
func parseForwarded(entry string) (netip.AddrPort, bool) {
	if addr, err := netip.ParseAddr(entry); err == nil {
		return netip.AddrPortFrom(plain(addr), 0), true
	}
	if ap, err := netip.ParseAddrPort(entry); err == nil {
		return netip.AddrPortFrom(plain(ap.Addr()), ap.Port()), true
	}
	return netip.AddrPort{}, false
}

// plain normalises addr for comparisons: IPv4 instead of IPv4-mapped IPv6, and no
// zone.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }
