package publicnet

import (
	"fmt"
	"net/netip"
	"syscall"
)

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
