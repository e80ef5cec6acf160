package auth

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/pawl-run/pawl/engine/loopback"
)

// ParsePublicURL reads the address under which an engine is reached from elsewhere: http or https, host
// and port. The error says what it must look like.
func ParsePublicURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the public URL is no URL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.User != nil, strings.Trim(u.Path, "/") != "",
		u.RawQuery != "", u.Fragment != "":
		return nil, fmt.Errorf("the public URL must be http or https with host and port alone, " +
			"such as https://pawl.example.com")
	}
	return &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}, nil
}

// exposedKey marks the context of requests that came through a listener beyond loopback.
type exposedKey struct{}

// Exposed marks the context of the requests of a listener with the address, if that is beyond loopback.
func Exposed(ctx context.Context, addr net.Addr) context.Context {
	if BeyondLoopback(addr) {
		return context.WithValue(ctx, exposedKey{}, true)
	}
	return ctx
}

// BeyondLoopback reports whether other machines can reach a listener with the address.
func BeyondLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback()
}

// Listening is what CheckListen needs to know beside the address.
type Listening struct {
	TLS bool
	// Plaintext says that TLS ends before this engine, at a proxy.
	Plaintext bool
	NoAuth    bool
}

// CheckListen refuses to open an engine to the network without protection: beyond loopback it needs TLS,
// its own or that of a proxy before it, and always a token.
func CheckListen(addr string, l Listening) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen on %q: want HOST:PORT, e.g. 127.0.0.1:7070: %w", addr, err)
	}
	switch {
	case loopback.Called(host):
		return nil
	case l.NoAuth:
		return fmt.Errorf("refusing to listen on %s: --no-auth is for loopback only; "+
			"beyond it every machine that reaches this address could operate this engine", addr)
	case l.TLS || l.Plaintext:
		return nil
	}
	return fmt.Errorf("refusing to listen on %s: beyond loopback tokens and data would travel unencrypted; "+
		"give --tls-cert and --tls-key, listen on 127.0.0.1, or pass --plaintext if TLS ends before this engine, "+
		"at a proxy of yours",
		addr)
}
