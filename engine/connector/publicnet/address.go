package publicnet

import (
	"fmt"
	"net/netip"
	"strings"
	"syscall"
)

// RefusedError is the error of dialling an address that the host may not have.
type RefusedError struct {
	// Host is the name that is configured.
	Host string
	// Address is what would have been dialled.
	Address netip.Addr
}

// Error says which setting allows the address.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s has the address %s, which is not public; set private: true for that host if it is meant",
		e.Host, e.Address)
}

// Control is for net.Dialer.Control: it refuses to dial addresses that are not public, with a *RefusedError that names
// the host.
func Control(host string) func(network, address string, _ syscall.RawConn) error {
	return func(_, dialled string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(dialled)
		if err != nil {
			return fmt.Errorf("check address %s: %w", dialled, err)
		}
		if !isPublic(target.Addr()) {
			return &RefusedError{Host: host, Address: target.Addr()}
		}
		return nil
	}
}

// Written refuses a host whose name itself shows an address that is not public, with a *RefusedError. What other names
// stand for is not looked up.
func Written(host string) error {
	if strings.EqualFold(host, "localhost") {
		return &RefusedError{Host: host, Address: netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	}
	if address, err := netip.ParseAddr(host); err == nil && !isPublic(address) {
		return &RefusedError{Host: host, Address: address}
	}
	return nil
}

// notPublic are address blocks besides those that netip knows: none of them leads to a public server, several lead to
// one through another address written inside.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),        // this network
	netip.MustParsePrefix("100.64.0.0/10"),    // carrier-grade NAT
	netip.MustParsePrefix("168.63.129.16/32"), // Azure's platform service
	netip.MustParsePrefix("192.0.0.0/24"),     // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),     // documentation
	netip.MustParsePrefix("192.88.99.0/24"),   // 6to4 relay
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"),  // documentation
	netip.MustParsePrefix("203.0.113.0/24"),   // documentation
	netip.MustParsePrefix("240.0.0.0/4"),      // reserved, broadcast
	netip.MustParsePrefix("::/96"),            // IPv4-compatible
	netip.MustParsePrefix("64:ff9b::/96"),     // NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"),   // NAT64, local
	netip.MustParsePrefix("100::/64"),         // discard
	netip.MustParsePrefix("2001::/23"),        // Teredo and other assignments
	netip.MustParsePrefix("2001:db8::/32"),    // documentation
	netip.MustParsePrefix("2002::/16"),        // 6to4
	netip.MustParsePrefix("fec0::/10"),        // site-local
}

// isPublic says whether an address may be dialled for a host that is not configured as private.
func isPublic(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	if !address.IsGlobalUnicast() || address.IsPrivate() || address.IsLinkLocalUnicast() || address.IsLoopback() {
		return false
	}
	for _, block := range notPublic {
		if block.Contains(address) {
			return false
		}
	}
	return true
}
