package auth

import "net/netip"

// ClientHost is what an address counts as, with or without a port: an IPv4 address,
// or the first address of an IPv6 /64, since a client usually has all of it. All that
// is no IP address counts as one host.
func ClientHost(addr string) netip.Addr {
	withPort, err := netip.ParseAddrPort(addr)
	ip := withPort.Addr()
	if err != nil {
		ip, _ = netip.ParseAddr(addr)
	}
	if ip = ip.Unmap(); !ip.Is6() {
		return ip
	}
	network, _ := ip.Prefix(64) // drops the zone, too
	return network.Addr()
}
