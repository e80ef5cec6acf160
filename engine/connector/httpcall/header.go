package httpcall

import "strings"

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
