package publicnet

import (
	"net"
	"strings"
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
