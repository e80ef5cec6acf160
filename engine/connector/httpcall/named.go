package httpcall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/engine/secret"
	"github.com/pawl-run/pawl/eventlog"
)

// Codes of calls whose named secrets cannot be sent. Nothing has left then.
const (
	// CodeSecretUnknown: the configuration has no secret of the name.
	CodeSecretUnknown = "secret.unknown"
	// CodeSecretHost: the configuration does not let the secret go to the host of the call.
	CodeSecretHost = "secret.host"
)

// placed says where a call carries named secrets. Names stand in the parameters, and so in the ledger; the values are
// put into the request alone.
type placed struct {
	Header map[string]string `json:"header"` // by the header's name
	Query  map[string]string `json:"query"`  // by the parameter's name
	Body   map[string]string `json:"body"`   // by the member's path, e.g. auth.key
	Path   map[string]string `json:"path"`   // by the placeholder's name, {name} in the URL's path
}

// names lists the secrets, each once.
func (p *placed) names() []string {
	if p == nil {
		return nil
	}
	var names []string
	for _, by := range []map[string]string{p.Header, p.Query, p.Body, p.Path} {
		names = slices.AppendSeq(names, maps.Values(by))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// named are the configured secrets with the addresses, "name:port", that each may be sent to.
type named struct {
	set     secret.Set
	boundTo map[string]map[string]bool
}

func newNamed(set secret.Set) (named, error) {
	n := named{set, make(map[string]map[string]bool)}
	for _, name := range set.Names() {
		s, _ := set.Lookup(name)
		bound := make(map[string]bool)
		for i, host := range s.Hosts() {
			addresses, err := addressesOf(host)
			if err != nil {
				key := fmt.Sprintf("secrets.%s.hosts[%d]", name, i)
				return n, &connector.SettingError{Key: key, Err: fmt.Errorf("%s: %q: %w", key, host, err)}
			}
			for _, address := range addresses {
				bound[address] = true
			}
		}
		for _, value := range s.Values() {
			if len(bound) > 0 && len(value) < redact.Shortest {
				key := "secrets." + name + ".value"
				return n, &connector.SettingError{Key: key, Err: fmt.Errorf("%s: a value of fewer than %d bytes cannot be told "+
					"from other text in answers, so it must not be sent", key, redact.Shortest)}
			}
		}
		n.boundTo[name] = bound
	}
	return n, nil
}

// values are those of the named secrets that may be sent to the target, by name.
func (n named) values(names []string, t target) (map[string]string, *eventlog.Failure) {
	values := make(map[string]string, len(names))
	for _, name := range names {
		s, known := n.set.Lookup(name)
		if !known {
			return nil, connector.Failf(eventlog.Logic, CodeSecretUnknown,
				"there is no secret %q: name one of those under secrets in the engine's configuration (%s)", name,
				strings.Join(n.set.Names(), ", "))
		}
		if !n.boundTo[name][addressOf(t.url)] {
			return nil, connector.Failf(eventlog.Logic, CodeSecretHost,
				"the secret %s must not be sent to %s: its hosts in the engine's configuration are [%s]", name, t.url.Host,
				strings.Join(s.Hosts(), ", "))
		}
		values[name] = s.Values()[0]
	}
	if t.url.Scheme == "http" && !t.host.private {
		return nil, connector.Failf(eventlog.Permission, connector.CodeHostInsecure,
			"a secret must not travel to %s unencrypted: use https, or set private: true for the host", t.url.Host)
	}
	return values, nil
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

// CallSecrets names the secrets that the call carries.
func (c *Connector) CallSecrets(call connector.Call) []string {
	var p struct {
		Secret *placed `json:"secret"`
	}
	if json.Unmarshal(call.Params, &p) != nil {
		return nil // such a call is refused for its parameters
	}
	return p.Secret.names()
}

// carry puts the secrets that the parameters name into the target's URL and headers, and into the body. No text about
// the call is made of these.
func (c *Connector) carry(p *params, t *target) *eventlog.Failure {
	values, failure := c.named.values(p.Secret.names(), *t)
	if failure != nil {
		return failure
	}
	if failure := carryInHeaders(p, t, values); failure != nil {
		return failure
	}
	if failure := carryInURL(p.Secret, t, values); failure != nil {
		return failure
	}
	if len(p.Secret.Body) > 0 && (p.Text != nil || p.Base64 != nil || p.Multipart != nil) {
		return connector.Failf(eventlog.Logic, connector.CodeParams,
			"secret.body goes with body or form only, not with text, base64 or multipart")
	}
	if p.Form != nil {
		return carryInForm(p, values)
	}
	for _, path := range slices.Sorted(maps.Keys(p.Secret.Body)) {
		if p.Body == nil {
			p.Body = json.RawMessage("{}")
		}
		body, err := withMember(p.Body, strings.Split(path, "."), values[p.Secret.Body[path]])
		if err != nil {
			return connector.Failf(eventlog.Logic, connector.CodeParams, "secret.body.%s: %v", path, err)
		}
		p.Body = body
	}
	return nil
}

// carryInForm adds fields with secrets to the form. The names are those of fields: a dot is part of one.
func carryInForm(p *params, values map[string]string) *eventlog.Failure {
	for name, of := range p.Secret.Body {
		if _, twice := p.Form[name]; twice {
			return connector.Failf(eventlog.Logic, connector.CodeParams, "secret.body.%s: the form has it already", name)
		}
		p.Form[name] = values[of]
	}
	return nil
}

func carryInHeaders(p *params, t *target, values map[string]string) *eventlog.Failure {
	t.secret = make(http.Header, len(p.Secret.Header))
	for _, name := range slices.Sorted(maps.Keys(p.Secret.Header)) {
		canonical, value := http.CanonicalHeaderKey(name), values[p.Secret.Header[name]]
		switch {
		case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value):
			return connector.Failf(eventlog.Logic, "http.header",
				"secret.header: %q or its secret has characters that no HTTP header may have", name)
		case forbiddenHeader(name):
			return connector.Failf(eventlog.Logic, "http.header", "secret.header: %s cannot be set by a script", canonical)
		case t.host.sets(canonical):
			return connector.Failf(eventlog.Logic, "http.header", "secret.header: %s is set by the configuration of %s",
				canonical, t.host.name)
		case t.secret[canonical] != nil || hasHeader(p.Headers, canonical) ||
			canonical == "If-Match" && p.IfMatch != nil || canonical == "If-None-Match" && p.IfNoneMatch != nil:
			return connector.Failf(eventlog.Logic, "http.header", "secret.header: %s is given twice", canonical)
		}
		t.secret[canonical] = []string{value}
	}
	return nil
}

func hasHeader(headers map[string]string, canonical string) bool {
	for name := range headers {
		if http.CanonicalHeaderKey(name) == canonical {
			return true
		}
	}
	return false
}

// placeholderName is what may stand between the braces of a placeholder in a URL's path.
var placeholderName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

func carryInURL(secret *placed, t *target, values map[string]string) *eventlog.Failure {
	if len(secret.Path) == 0 && len(secret.Query) == 0 {
		return nil
	}
	path := t.url.EscapedPath()
	if raw := t.url.RawPath; raw != "" { // it has escapes that EscapedPath would drop for the sake of the braces
		path = strings.NewReplacer("{", "%7B", "}", "%7D").Replace(raw)
		if (&url.URL{Path: t.url.Path, RawPath: path}).EscapedPath() != path {
			return connector.Failf(eventlog.Logic, "http.url", "the url's path is not percent-encoded as it should be")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(secret.Path)) {
		hole := "%7B" + name + "%7D"
		if !placeholderName.MatchString(name) || strings.Count(path, hole) != 1 {
			return connector.Failf(eventlog.Logic, "http.url",
				"secret.path.%s: the url's path has to hold {%s} once, and its name letters, digits and _", name, name)
		}
		path = strings.Replace(path, hole, url.PathEscape(values[secret.Path[name]]), 1)
	}
	wire := *t.url
	var err error
	if wire.Path, err = url.PathUnescape(path); err != nil {
		return connector.Failf(eventlog.Logic, "http.url", "the url's path is not percent-encoded as it should be")
	}
	wire.RawPath = path
	query := make(map[string]any, len(secret.Query))
	for name, of := range secret.Query {
		if t.url.Query().Has(name) {
			return connector.Failf(eventlog.Logic, connector.CodeParams, "secret.query: %s is given twice", name)
		}
		query[name] = values[of]
	}
	if failure := addQuery(&wire, query); failure != nil {
		return failure
	}
	t.wire = &wire
	return nil
}

// withMember returns the JSON object with the string at the path, as its last member. All else stays byte for byte.
func withMember(object json.RawMessage, path []string, value string) (json.RawMessage, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(object))
	if start, err := decoder.ReadToken(); err != nil || start.Kind() != '{' {
		return nil, errors.New("what is to hold it is no object")
	}
	if path[0] == "" {
		return nil, errors.New("want names with dots between them, e.g. auth.key")
	}
	out, found := []byte{'{'}, false
	add := func(name string, value []byte) error {
		if len(out) > 1 {
			out = append(out, ',')
		}
		var err error
		if out, err = jsontext.AppendQuote(out, name); err != nil {
			return fmt.Errorf("write the name %q: %w", name, err)
		}
		out = append(append(out, ':'), value...)
		return nil
	}
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("read the body: %w", err)
		}
		key := name.String()
		member, err := decoder.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("read the body: %w", err)
		}
		inside := json.RawMessage(member)
		if key == path[0] {
			if found = true; len(path) == 1 {
				return nil, errors.New("the body has it already")
			}
			if inside, err = withMember(inside, path[1:], value); err != nil {
				return nil, err
			}
		}
		if err := add(key, inside); err != nil {
			return nil, err
		}
	}
	if found {
		return append(out, '}'), nil
	}
	inside := json.RawMessage("{}")
	var err error
	if len(path) == 1 {
		inside, err = jsontext.AppendQuote(nil, value)
	} else {
		inside, err = withMember(inside, path[1:], value)
	}
	if err != nil {
		return nil, err
	}
	if err := add(path[0], inside); err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}
