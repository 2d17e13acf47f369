package auth

import (
	"net"
	"net/netip"
	"strings"
)

// host is what an address counts as: an IPv4 address, the first address of an
// IPv6 /64, or the text of anything else. It is comparable, and made without
// allocation, since every request needs one.
type host struct {
	ip   netip.Addr
	text string // "" for an IP address
}

// clientHost drops the port, which differs between requests of one client. A
// client with one IPv6 address usually has its whole /64.
func clientHost(addr string) host {
	text := addr
	if h, _, err := net.SplitHostPort(addr); err == nil {
		text = h
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		return host{text: text}
	}
	if ip = ip.Unmap(); ip.Is4() {
		return host{ip: ip}
	}
	network, err := ip.Prefix(64) // drops the zone, too
	if err != nil {
		return host{text: text}
	}
	return host{ip: network.Addr()}
}

// ClientHost is what the address of a client counts as: without its port, and of
// IPv6 the /64.
func ClientHost(addr string) string { return clientHost(addr).String() }

func (h host) String() string {
	switch {
	case !h.ip.IsValid():
		return h.text
	case h.ip.Is4():
		return h.ip.String()
	}
	return netip.PrefixFrom(h.ip, 64).String()
}
