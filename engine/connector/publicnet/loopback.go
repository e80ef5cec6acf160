package publicnet

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
)

// IsLoopback reports whether a host, as a configuration names it, is this machine: "localhost" or an address of the
// loopback interface. A password may go there unencrypted. Other names are never looked up, and count as another
// machine.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// LoopbackOnly is for net.Dialer.Control, where what is sent is not encrypted: it refuses to dial an address that is
// not this machine's loopback, as a name such as localhost may have.
func LoopbackOnly(_, dialled string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(dialled)
	if err != nil {
		return fmt.Errorf("check address %s: %w", dialled, err)
	}
	if !target.Addr().Unmap().IsLoopback() {
		return fmt.Errorf("the name leads to %s, which is not this machine, and the connection would not be encrypted",
			target.Addr())
	}
	return nil
}
