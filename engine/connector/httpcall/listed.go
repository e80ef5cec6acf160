package httpcall

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// readMethods are the methods of reads that are no GET: scripts may use them, and hosts may be configured with them.
var readMethods = []string{"POST", "QUERY", "SEARCH", "REPORT", "PROPFIND"}

// listedReads are the requests, "METHOD /path", of which the operator has said that they change nothing.
type listedReads map[string]bool

func newListedReads(configured []string) (listedReads, error) {
	reads := make(listedReads, len(configured))
	for i, line := range configured {
		method, path, _ := strings.Cut(line, " ")
		if !slices.Contains(readMethods, method) {
			return nil, wrong(fmt.Sprintf("reads[%d]", i), "reads[%d]: %q: want a method of %s, a space and a path, e.g. "+
				"POST /v1/search", i, line, strings.Join(readMethods, ", "))
		}
		if !plainPath(path) {
			return nil, wrong(fmt.Sprintf("reads[%d]", i), "reads[%d]: %q: want a path that begins with /, without //, .. or "+
				"a query, and without percent-encoding", i, line)
		}
		reads[line] = true
	}
	return reads, nil
}

// plainPath reports whether a decoded path leads to the same place however it is read.
func plainPath(path string) bool {
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#%\\") || strings.Contains(path, "//") {
		return false
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return false
		}
	}
	return !strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// allows says why a request to the URL is none of the listed reads, or nil.
func (l listedReads) allows(method string, u *url.URL, hostName string) *eventlog.Failure {
	escaped := strings.ToLower(u.EscapedPath())
	if l[method+" "+u.Path] && !strings.Contains(escaped, "%2f") && !strings.Contains(escaped, "%5c") {
		return nil
	}
	listed := "it lists none"
	if len(l) > 0 {
		listed = "it lists " + strings.Join(slices.Sorted(maps.Keys(l)), ", ")
	}
	return connector.Failf(eventlog.Permission, connector.CodeReads,
		"%s %s is not configured as a read: if it never changes anything, add %q to connectors.http.hosts.%s.reads in the "+
			"engine's configuration and start the engine again (%s)", method, u.EscapedPath(), method+" "+u.Path, hostName,
		listed)
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
