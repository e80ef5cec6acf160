package httpcall

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// parse checks a call's parameters. The URL and the failure that it returns are the caller's own. All else is shared
// with other calls: the caller copies it before a change.
func (c *Connector) parse(call connector.Call) (params, target, *eventlog.Failure) {
	found := c.lookAt(call.Params)
	if found.refused != nil {
		refused := *found.refused
		return params{}, target{}, &refused
	}
	p, t, own := found.params, found.target, *found.target.url
	t.url = &own
	if failure := addQuery(t.url, p.Query); failure != nil {
		return p, target{}, failure
	}
	if p.Secret != nil && !c.unknown {
		if failure := c.carry(&p, &t); failure != nil {
			return p, target{}, failure
		}
	}
	return p, t, nil
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
			return nil, overriding("header " + canonical)
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

// addHostHeaders adds what the configuration says for the target's host, the secrets that the call carries to it, and
// the trace that the call belongs to, unless the script or the configuration names another.
func addHostHeaders(headers http.Header, t target, call connector.Call) {
	maps.Copy(headers, t.host.headers)
	maps.Copy(headers, t.secret)
	if headers["User-Agent"] == nil {
		headers["User-Agent"] = userAgent
	}
	if call.Traceparent != "" && headers["Traceparent"] == nil {
		headers["Traceparent"] = []string{call.Traceparent}
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
	addHostHeaders(headers, t, call)
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
