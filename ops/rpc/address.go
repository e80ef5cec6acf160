package rpc

import (
	"net/netip"
	"net/url"
	"strings"
)

// IsLoopback reports whether host is a loopback name or address. An empty host means every
// interface, so it is not.
func IsLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.Unmap().IsLoopback()
}

// MayCarryToken reports whether a token may be sent to the address: it is https, or an address of this
// machine. Names below localhost may lead elsewhere, and do not count.
func MayCarryToken(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && IsLoopback(host) && !strings.HasSuffix(host, ".localhost") &&
		!strings.HasSuffix(host, ".")
}
