// Package peeraddr interprets the address of a peer, in the form "host:port" or "host".
//
// A caller with an IPv6 address can usually choose from a whole range. Limits per caller
// therefore apply to [Network] and not to the address. The functions are safe for concurrent use.
package peeraddr

import (
	"net"
	"net/netip"
)

// IP returns the IP address of a peer; false if it has none.
func IP(addr string) (netip.Addr, bool) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip, err := netip.ParseAddr(host)
	return ip.Unmap(), err == nil
}

// Network returns the range of addresses that one caller can choose from: an IPv4 address, or
// 64 bits of an IPv6 address. All callers without an IP address share the zero Prefix.
func Network(addr string) netip.Prefix {
	ip, ok := IP(addr)
	if !ok {
		return netip.Prefix{}
	}
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	p, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
