package loopback

import (
	"net"
	"net/netip"
	"strings"
)

// Host reports whether a host, without brackets, is this machine: the name localhost or an address of the loopback
// interface. Every other name counts as another machine, also those below localhost, which may lead elsewhere.
func Host(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Address is Host for the host of an address HOST:PORT. A text that is no such address is not this machine.
func Address(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && Host(host)
}

// Called reports whether the host that a request or a listener names is this machine. It also accepts what browsers and
// resolvers lead here: names below localhost, a name with a dot at its end, and an address in brackets. It must not
// decide whether a password may be sent: what answers at such a name may be another machine.
func Called(host string) bool {
	host = strings.TrimSuffix(host, ".")
	return Host(strings.Trim(host, "[]")) || strings.HasSuffix(strings.ToLower(host), ".localhost")
}
