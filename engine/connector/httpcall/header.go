package httpcall

import (
	"mime"
	"net/http"
	"net/url"
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

// secretOverrides says which header with a secret asks for another method or address than the read has, or nil. The
// script's own headers are looked at with the rest of their rules.
func secretOverrides(t target) *eventlog.Failure {
	for name := range t.secret {
		if overridesMethod(name) {
			return overriding("secret.header: " + name)
		}
	}
	return nil
}

// overriding refuses the header of a read that overridesMethod names.
func overriding(header string) *eventlog.Failure {
	return connector.Failf(eventlog.Logic, "http.header", "%s cannot be set in a read: it asks for another method or "+
		"address", header)
}

// overrides says why servers may take a read for another method than the operator has listed, or nil: for a field
// _method of the query or of a form.
func overrides(p params, t target, headers http.Header, body []byte) *eventlog.Failure {
	form := ""
	switch kind, _, _ := mime.ParseMediaType(headers.Get("Content-Type")); {
	case p.Form != nil, kind == "application/x-www-form-urlencoded":
		form = string(body)
	case strings.HasPrefix(kind, "multipart/"):
		return connector.Failf(eventlog.Logic, connector.CodeParams, "the Content-Type of a read cannot be %s: its parts "+
			"cannot be checked; use form or body", kind)
	}
	if hasMethodField(t.sent().RawQuery) || hasMethodField(form) {
		return connector.Failf(eventlog.Logic, connector.CodeParams, "a read cannot have a field %s: it asks for another "+
			"method", methodField)
	}
	return nil
}

// methodField is the field of a query or form that many servers take for the method.
const methodField = "_method"

// hasMethodField looks into a query or form, also one whose fields a lenient server alone would tell apart.
func hasMethodField(encoded string) bool {
	for field := range strings.FieldsFuncSeq(encoded, func(r rune) bool { return r == '&' || r == ';' }) {
		name, _, _ := strings.Cut(field, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if strings.EqualFold(strings.TrimSpace(name), methodField) {
			return true
		}
	}
	return false
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
