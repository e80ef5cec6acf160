package rpc

import (
	"net/url"

	"github.com/pawl-run/pawl/engine/loopback"
)

// MayCarryToken reports whether a token may be sent to the address: it is https, or an address of this machine.
func MayCarryToken(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && loopback.Host(u.Hostname())
}
