package httpcall

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/pawl-run/pawl/engine/connector/publicnet"
)

// dialer opens connections to configured hosts. The address is checked after the name was
// resolved and right before it is dialled, so a name that resolves differently the second time
// gains nothing.
type dialer struct {
	hosts hosts
	tls   *tls.Config
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	h, known := d.hosts[address]
	if !known {
		return nil, fmt.Errorf("%s is not a configured host", address)
	}
	raw, err := h.connect(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: raw}, nil
}

// connect opens a connection to the host, through its proxy if it has one.
func (h *host) connect(ctx context.Context, network, address string) (net.Conn, error) {
	if h.proxy != nil {
		return h.proxy.Dial(ctx, h.name, address, h.private)
	}
	netDialer := net.Dialer{KeepAlive: 30 * time.Second}
	if !h.private {
		netDialer.Control = publicnet.Control(h.name)
	}
	return netDialer.DialContext(ctx, network, address)
}

// dialTLS does the handshake itself, so that conn counts a request's bytes and not TLS's own.
func (d *dialer) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	plain, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		plain.Close()
		return nil, fmt.Errorf("name of server %s: %w", address, err)
	}
	config := d.tls.Clone()
	config.ServerName = name
	secure := tls.Client(plain.(*conn).Conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		plain.Close()
		return nil, fmt.Errorf("TLS handshake with %s: %w", address, err)
	}
	return &conn{Conn: secure, secure: true}, nil
}

func newTransport(d *dialer) *http.Transport {
	var http1 http.Protocols
	http1.SetHTTP1(true)
	return &http.Transport{
		// No proxy of the environment: what dial connects to is the host, or the proxy that is configured for it.
		DialContext: d.dial, DialTLSContext: d.dialTLS,
		// HTTP/2 has resends of its own.
		Protocols: &http1, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
		DisableCompression: true,
		MaxIdleConns:       256, MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second,
		MaxConnsPerHost:        maxConnections,
		MaxResponseHeaderBytes: 64 << 10,
	}
}
