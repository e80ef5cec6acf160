package httpcall

import (
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// overridesMethod says whether servers read another method or another address out of the header than the request has.
func overridesMethod(name string) bool {
	switch strings.ToLower(name) {
	case "x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url":
		return true
	}
	return false
}

// overriding refuses the header of a read that overridesMethod names.
func overriding(header string) *eventlog.Failure {
	return connector.Failf(eventlog.Logic, "http.header", "%s cannot be set in a read: it asks for another method or "+
		"address", header)
}

// forbiddenHeader says whether a header decides how a request is framed, routed or accounted for,
// so that neither a script nor the configuration may set it.
func forbiddenHeader(name string) bool {
	switch lower := strings.ToLower(name); lower {
	case "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
		"host", "content-length", "expect", "accept-encoding", "idempotency-key":
		return true
	default:
		return strings.HasPrefix(lower, "pawl-") || strings.HasPrefix(lower, "proxy-")
	}
}
