package httpcall

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/pawl-run/pawl/engine/connector/publicnet"
)

// newProxy checks where requests are to go through.
func newProxy(text string) (*url.URL, error) {
	proxy, err := url.Parse(text)
	if err != nil || proxy.Scheme != "http" || proxy.Hostname() == "" || proxy.Path != "" && proxy.Path != "/" ||
		proxy.RawQuery != "" || proxy.Fragment != "" {
		// The text may hold a password: no error repeats it.
		return nil, wrong("proxy", "proxy: want http:// with the name and port of a proxy, as in "+
			"http://proxy.example.com:3128")
	}
	return proxy, nil
}

// proxyAddress is the "name:port" of the proxy.
func proxyAddress(proxy *url.URL) string {
	port := proxy.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(proxy.Hostname(), port)
}

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
	if h.proxy != nil {
		return d.dialThrough(ctx, h, address)
	}
	netDialer := net.Dialer{KeepAlive: 30 * time.Second}
	if !h.private {
		netDialer.Control = publicnet.Control(h.name)
	}
	raw, err := netDialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: raw}, nil
}

// dialThrough opens a connection to the host through its proxy, over which the request goes as it would without one.
// The proxy resolves the host's name, so that only an address which is written in the configuration can be looked at
// here.
func (d *dialer) dialThrough(ctx context.Context, h *host, address string) (net.Conn, error) {
	name, _, _ := net.SplitHostPort(address)
	if _, err := netip.ParseAddr(name); err == nil && !h.private {
		if err := publicnet.Control(h.name)("tcp", address, nil); err != nil {
			return nil, err
		}
	}
	via := proxyAddress(h.proxy)
	netDialer := net.Dialer{KeepAlive: 30 * time.Second}
	raw, err := netDialer.DialContext(ctx, "tcp", via)
	if err != nil {
		return nil, fmt.Errorf("proxy %s: %w", via, err)
	}
	defer context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })()
	if err := tunnel(raw, address, h.proxy.User); err != nil {
		raw.Close()
		return nil, fmt.Errorf("proxy %s: %w", via, err)
	}
	return &conn{Conn: raw}, nil
}

// maxTunnelAnswer bounds what a proxy answers to CONNECT.
const maxTunnelAnswer = 64 << 10

// tunnel asks the proxy at the other end for a connection to the address.
func tunnel(raw net.Conn, address string, user *url.Userinfo) error {
	ask := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address,
		Header: http.Header{"User-Agent": userAgent}}
	if user != nil {
		password, _ := user.Password()
		ask.Header["Proxy-Authorization"] = []string{"Basic " +
			base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))}
	}
	if err := ask.Write(raw); err != nil {
		return fmt.Errorf("ask for a connection to %s: %w", address, err)
	}
	reader := bufio.NewReader(io.LimitReader(raw, maxTunnelAnswer))
	answer, err := http.ReadResponse(reader, ask)
	if err != nil {
		return fmt.Errorf("read the answer to CONNECT %s: %w", address, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it answered %d to CONNECT %s", answer.StatusCode, address)
	}
	if reader.Buffered() > 0 {
		return fmt.Errorf("it sent more than its answer to CONNECT %s", address)
	}
	return nil
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
