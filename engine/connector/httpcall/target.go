package httpcall

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// target is where a call goes: a checked URL on a configured host.
type target struct {
	url  *url.URL
	host *host
	// wire is the URL with the secrets that the call carries in it, nil where it has none. No text shows it.
	wire *url.URL
	// secret are the headers that carry secrets.
	secret http.Header
}

// sent is the URL that goes on the wire.
func (t target) sent() *url.URL { return cmp.Or(t.wire, t.url) }

// parseTarget checks a URL and finds its host's configuration. Error text never holds the query or
// user part of the URL, which may be confidential.
func (c *Connector) parseTarget(raw string) (target, *eventlog.Failure) {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.Hostname() == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return target{}, connector.Failf(eventlog.Logic, "http.url", "the url is not a complete http or https address")
	}
	if u.User != nil {
		return target{}, connector.Failf(eventlog.Logic, "http.url",
			"the url must not hold a user or password; configure headers for the host instead")
	}
	u.Fragment, u.RawFragment = "", ""
	return c.resolveHost(u)
}

func (c *Connector) resolveHost(u *url.URL) (target, *eventlog.Failure) {
	hostname, err := canonicalHost(u.Hostname())
	if err != nil {
		return target{}, connector.Failf(eventlog.Logic, "http.url", "the url's host: %v", err)
	}
	port := u.Port()
	if port == "" {
		port = "443"
		if u.Scheme == "http" {
			port = "80"
		}
	}
	h, known := c.hosts[net.JoinHostPort(hostname, port)]
	switch {
	case known:
	case c.unknown:
		h = &host{name: u.Host, timeout: connector.DefaultTimeout, private: true}
	default:
		return target{}, connector.Failf(eventlog.Permission, connector.CodeHost,
			"the host %s is not allowed: if it should be, add it under connectors.http.hosts in the engine's "+
				"configuration and start the engine again", u.Host)
	}
	if u.Scheme == "http" && !h.private && (len(h.headers) > 0 || h.oauth != nil) {
		return target{}, connector.Failf(eventlog.Permission, connector.CodeHostInsecure,
			"%s is configured with headers, which must not travel unencrypted: use https, or set private: true", u.Host)
	}
	return target{url: u, host: h}, nil
}

func addQuery(u *url.URL, query map[string]any) *eventlog.Failure {
	if len(query) == 0 {
		return nil
	}
	added, failure := formEncoded("query", query)
	if failure != nil {
		return failure
	}
	if u.RawQuery != "" && added != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += added
	return nil
}

// placeOf names a URL in messages, without its query.
func placeOf(method string, t target) string {
	return method + " " + t.url.Scheme + "://" + t.url.Host + t.url.EscapedPath()
}

// addressOf is the "name:port" that the URL names; empty for a host that has no name.
func addressOf(u *url.URL) string {
	name, err := canonicalHost(u.Hostname())
	if err != nil {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = "443"
		if u.Scheme == "http" {
			port = "80"
		}
	}
	return net.JoinHostPort(name, port)
}

// sameOrigin reports whether the URLs have the same scheme, host and port.
func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && addressOf(a) == addressOf(b) }

// hostOf is a target's host as grants write it: without the ports of the schemes, whichever scheme the target has. A
// host that is configured without a port may be called at both ports, by both schemes.
func hostOf(t target) string {
	name, err := canonicalHost(t.url.Hostname())
	port := t.url.Port()
	switch {
	case err != nil:
		return "" // such a target has no configured host
	case port != "" && port != "80" && port != "443":
		return net.JoinHostPort(name, port)
	case strings.Contains(name, ":"): // IPv6
		return "[" + name + "]"
	}
	return name
}
