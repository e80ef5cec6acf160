package httpcall

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// params are what a script gives.
type params struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Query   map[string]any    `json:"query"`
	// Body is sent as JSON, byte for byte as the script's value was recorded.
	Body json.RawMessage `json:"body"`
	// Text is sent as it is.
	Text *string `json:"text"`
	// Base64 is sent decoded.
	Base64 *string `json:"base64"`
	// Form is sent as the fields of an HTML form.
	Form map[string]any `json:"form"`
	// Multipart is sent as multipart/form-data.
	Multipart []part `json:"multipart"`
	// IfMatch and IfNoneMatch are the headers of these names: the ETag of an earlier answer, or *.
	IfMatch     *string `json:"ifMatch"`
	IfNoneMatch *string `json:"ifNoneMatch"`
	// Expect are statuses that are results beside those of 2xx.
	Expect []int `json:"expect"`
	// ResponseEncoding is how the body of the result is written: "base64", or as JSON or text.
	ResponseEncoding string `json:"responseEncoding"`
	// Method is that of a read that is no GET.
	Method string `json:"method"`
	// Secret says where named secrets go.
	Secret *placed `json:"secret"`
}

// expects says whether an answer of the status is a result.
func (p *params) expects(status int) bool {
	return status >= 200 && status <= 299 || slices.Contains(p.Expect, status)
}

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
	if !known {
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

// parse decodes and checks a call's parameters.
func (c *Connector) parse(call connector.Call) (params, target, *eventlog.Failure) {
	var p params
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return p, target{}, failure
	}
	if failure := p.oneBody(); failure != nil {
		return p, target{}, failure
	}
	t, failure := c.parseTarget(p.URL)
	if failure != nil {
		return p, target{}, failure
	}
	if failure := addQuery(t.url, p.Query); failure != nil {
		return p, target{}, failure
	}
	if p.Secret != nil {
		if failure := c.carry(&p, &t); failure != nil {
			return p, target{}, failure
		}
	}
	return p, t, nil
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

// scriptHeaders checks the headers that a script gives for a host and copies them into a new set. Where reads is true,
// it refuses headers that ask for another method or address: a read must not change anything.
func scriptHeaders(p params, h *host, reads bool) (http.Header, *eventlog.Failure) {
	headers := make(http.Header, len(p.Headers)+len(h.headers)+6)
	for name, value := range p.Headers {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value):
			return nil, connector.Failf(eventlog.Logic, "http.header",
				"header %q or its value has characters that no HTTP header may have", name)
		case forbiddenHeader(name):
			return nil, connector.Failf(eventlog.Logic, "http.header", "header %s cannot be set by a script", canonical)
		case reads && overridesMethod(name):
			return nil, connector.Failf(eventlog.Logic, "http.header", "header %s cannot be set in a read: it asks for "+
				"another method or address", canonical)
		case h.sets(canonical):
			return nil, connector.Failf(eventlog.Logic, "http.header", "header %s is set by the configuration of %s",
				canonical, h.name)
		case headers[canonical] != nil:
			return nil, connector.Failf(eventlog.Logic, "http.header", "header %s is given twice", canonical)
		}
		headers[canonical] = []string{value}
	}
	for _, condition := range []struct {
		name, param string
		value       *string
	}{{"If-Match", "ifMatch", p.IfMatch}, {"If-None-Match", "ifNoneMatch", p.IfNoneMatch}} {
		switch {
		case condition.value == nil:
			continue
		case !httpguts.ValidHeaderFieldValue(*condition.value):
			return nil, connector.Failf(eventlog.Logic, "http.header", "%s has characters that no HTTP header may have",
				condition.param)
		case headers[condition.name] != nil || h.headers[condition.name] != nil:
			return nil, connector.Failf(eventlog.Logic, "http.header", "header %s is given twice, as %s too", condition.name,
				condition.param)
		}
		headers[condition.name] = []string{*condition.value}
	}
	return headers, nil
}

// addHostHeaders adds what the configuration says for the target's host, and the secrets that the call carries to it.
func addHostHeaders(headers http.Header, t target) {
	maps.Copy(headers, t.host.headers)
	maps.Copy(headers, t.secret)
	if headers["User-Agent"] == nil {
		headers["User-Agent"] = userAgent
	}
}

var userAgent = []string{"pawl"}

// newRequest assembles a request without a body.
func newRequest(method string, t target, headers http.Header) *http.Request {
	return &http.Request{
		Method: method, URL: t.sent(), Host: t.url.Host, Header: headers,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
}

// emptyBody is a body of no bytes that net/http cannot recognise as such beforehand, so that
// it never thinks the request can be replayed.
type emptyBody struct{}

func (emptyBody) Read([]byte) (int, error) { return 0, io.EOF }

func (emptyBody) Close() error { return nil }

// mutationRequest assembles the request of a mutation. alone says that it must not share its
// connection: see Connector.alone.
func mutationRequest(method string, call connector.Call, p params, t target) (request *http.Request, alone bool,
	failure *eventlog.Failure) {
	headers, failure := scriptHeaders(p, t.host, false)
	if failure != nil {
		return nil, false, failure
	}
	addHostHeaders(headers, t)
	headers["Idempotency-Key"] = []string{call.Key}
	headers["Pawl-Workflow"] = []string{string(call.Workflow)}
	headers["Pawl-Run"] = []string{string(call.Run)}
	if !call.Deadline.IsZero() {
		headers["Pawl-Deadline"] = []string{call.Deadline.UTC().Format(time.RFC3339Nano)}
	}
	if !httpguts.ValidHeaderFieldValue(call.Key) {
		return nil, false, connector.Failf(eventlog.Internal, connector.CodeKey,
			"the idempotency key cannot be a header")
	}
	request = newRequest(method, t, headers)
	body, failure := bodyWithType(p, headers)
	if failure != nil {
		return nil, false, failure
	}
	// GetBody stays nil, always: with it, or with a body known to be empty, net/http resends a
	// request by itself when a kept-alive connection breaks.
	if len(body) > 0 {
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return request, false, nil
	}
	if method == http.MethodDelete {
		request.Body, request.ContentLength = emptyBody{}, -1
		return request, false, nil
	}
	// Many servers want Content-Length: 0 here, which net/http writes for a body known to be
	// empty only. So this request gets a connection of its own: net/http never resends on one
	// that was not used before.
	request.Body, request.ContentLength = http.NoBody, 0
	return request, true, nil
}

// bodyWithType is the body that the parameters give. Its type goes into the headers, where they name none.
func bodyWithType(p params, headers http.Header) ([]byte, *eventlog.Failure) {
	body, contentType, failure := p.content()
	if failure != nil {
		return nil, failure
	}
	if p.Multipart != nil && headers["Content-Type"] != nil {
		return nil, connector.Failf(eventlog.Logic, "http.header",
			"header Content-Type cannot be set beside multipart: it names the boundary")
	}
	if contentType != "" && headers["Content-Type"] == nil {
		headers["Content-Type"] = []string{contentType}
	}
	return body, nil
}

// targetOf finds where a call goes; false for one that is refused before it is sent.
func (c *Connector) targetOf(call connector.Call) (target, bool) {
	var p struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(call.Params, &p) != nil {
		return target{}, false
	}
	t, failure := c.parseTarget(p.URL)
	return t, failure == nil
}
