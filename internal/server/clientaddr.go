package server

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// trustedProxies are the networks whose X-Forwarded-For is trusted. Those of IPv4 are
// written as such.
type trustedProxies []netip.Prefix

func (t trustedProxies) contains(addr netip.Addr) bool {
	return slices.ContainsFunc(t, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// resolve replaces r.RemoteAddr by the client's address if the peer is a
// trusted proxy that sent it. The form stays "IP:port". It sets r.URL.Scheme to
// "https" if the client uses TLS, with this server or with a trusted proxy, and to
// "http" if not. It returns whether the peer is a trusted proxy.
func (t trustedProxies) resolve(r *http.Request) bool {
	r.URL.Scheme = "http" // a client may have sent any
	if r.TLS != nil {
		r.URL.Scheme = "https"
	}
	if len(t) == 0 {
		return false
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !t.contains(plain(peer.Addr())) {
		return false
	}
	if proto := r.Header["X-Forwarded-Proto"]; len(proto) > 0 && strings.EqualFold(proto[len(proto)-1], "https") {
		r.URL.Scheme = "https"
	}
	// Trusted proxies append at the right. Entries to the left of the first address
	// that is not trusted, or that is malformed, may be forged.
	entries := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, entry := range slices.Backward(entries) {
		client, ok := parseForwarded(strings.TrimSpace(entry))
		if !ok {
			break
		}
		r.RemoteAddr = client.String()
		if !t.contains(client.Addr()) {
			break
		}
	}
	return true
}

// parseForwarded takes an address with or without a port: some proxies add it.
func parseForwarded(entry string) (netip.AddrPort, bool) {
	if addr, err := netip.ParseAddr(entry); err == nil {
		return netip.AddrPortFrom(plain(addr), 0), true
	}
	ap, err := netip.ParseAddrPort(entry)
	return netip.AddrPortFrom(plain(ap.Addr()), ap.Port()), err == nil
}

// plain normalises addr for comparisons: IPv4 instead of IPv4-mapped IPv6, and no
// zone.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }
