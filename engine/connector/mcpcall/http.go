package mcpcall

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/publicnet"
	"github.com/pawl-run/pawl/eventlog"
)

// dialTimeout bounds the making of a connection.
const dialTimeout = 10 * time.Second

// CodeAuth: the server at the URL does not take the headers of the configuration.
const CodeAuth = "mcp.auth"

// where names the server in messages.
func (c Config) where() string {
	if c.URL == "" {
		return c.Command[0]
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return c.Name
	}
	return u.Host
}

// client asks the server at the URL, and no other: redirects are not followed.
func (c Config) client() *http.Client {
	return &http.Client{
		Transport: &roundTripper{config: c, reads: c.connections(false), changes: c.connections(true)},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return fmt.Errorf("%s sends requests on to another address; name that one as url", c.where())
		},
	}
}

// connections makes connections to the server. A connection for a change is used for that change alone, and asks its
// gate before the first byte; HTTP/2 is off, since it would send several requests on one. Connections without
// encryption lead to this machine alone, whatever its name is resolved to.
func (c Config) connections(changes bool) *http.Transport {
	plain := &net.Dialer{Timeout: dialTimeout, Control: publicnet.LoopbackOnly}
	encrypted := &tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout}}
	guard := func(ctx context.Context, made net.Conn, err error) (net.Conn, error) {
		if f, leaves := ctx.Value(leavingKey{}).(*flight); err == nil && changes && leaves {
			return &gatedConn{Conn: made, flight: f}, nil
		}
		return made, err
	}
	return &http.Transport{
		DisableKeepAlives: changes, ResponseHeaderTimeout: 0, TLSHandshakeTimeout: dialTimeout, IdleConnTimeout: time.Minute,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			made, err := plain.DialContext(ctx, network, address)
			return guard(ctx, made, err)
		},
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			made, err := encrypted.DialContext(ctx, network, address)
			return guard(ctx, made, err)
		},
	}
}

// roundTripper carries requests to the server of the configuration.
type roundTripper struct {
	config         Config
	reads, changes *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (r *roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	for name, value := range r.config.Headers {
		request.Header.Set(name, value)
	}
	f, leaves := request.Context().Value(leavingKey{}).(*flight)
	if !leaves {
		return r.reads.RoundTrip(request)
	}
	request.GetBody = nil // it is sent once
	response, err := r.changes.RoundTrip(request)
	if err == nil {
		switch response.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
			f.status.Store(int32(response.StatusCode))
		}
	}
	return response, err
}

// turnedAway is the failure of a call that the server at a URL has not looked at.
func (f *flight) turnedAway(call connector.Call) *eventlog.Failure {
	switch status := f.status.Load(); status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return connector.Failf(eventlog.Auth, CodeAuth, "%s.%s was refused with status %d: the server does not take the "+
			"headers of the configuration", call.Connector, call.Operation, status)
	case http.StatusNotFound: // the session is over, and the next call begins another
		return connector.Failf(eventlog.Transient, CodeServer, "%s.%s was refused with status %d: the server has no such "+
			"session or address", call.Connector, call.Operation, status)
	default:
		return connector.Failf(eventlog.Precondition, CodeServer, "%s.%s was refused with status %d: the address is not "+
			"that of a server of streamable HTTP", call.Connector, call.Operation, status)
	}
}

// gatedConn is the connection of one change.
type gatedConn struct {
	net.Conn
	flight *flight
	let    bool // the gate has let the request out
}

var errHeldBack = errors.New("the call is held back")

// Write asks the gate before the first byte, and lets one request out.
func (c *gatedConn) Write(p []byte) (int, error) {
	if !c.let {
		if failure := c.flight.gate(); failure != nil {
			c.flight.refused.Store(failure)
			return 0, errHeldBack
		}
		if !c.flight.wrote.CompareAndSwap(false, true) {
			return 0, errHeldBack
		}
		c.let = true
	}
	return c.Conn.Write(p)
}
