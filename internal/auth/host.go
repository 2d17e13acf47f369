package auth

import "net/netip"

// clientHost is what an address counts as, with or without a port: an IPv4 address,
// or the first address of an IPv6 /64, since a client usually has all of it. All that
// is no IP address counts as one host.
func clientHost(addr string) netip.Addr {
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

// ClientHost is what the address of a client counts as: without its port, and of
// IPv6 the first address of the /64.
func ClientHost(addr string) string { return clientHost(addr).String() }
