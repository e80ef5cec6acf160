package httpcall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// carry puts the secrets that the parameters name into the target's URL and headers, and into the body. Messages about
// the call are made without them.
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
	p.Form = maps.Clone(p.Form) // the map is shared with other calls: no secret may get into it
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
			return connector.Failf(eventlog.Logic, "http.url", "the path of the url is not percent-encoded correctly")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(secret.Path)) {
		hole := "%7B" + name + "%7D"
		if !placeholderName.MatchString(name) || strings.Count(path, hole) != 1 {
			return connector.Failf(eventlog.Logic, "http.url",
				"secret.path.%s: the path of the url must hold {%s} once, and the name may have letters, digits and _", name, name)
		}
		path = strings.Replace(path, hole, url.PathEscape(values[secret.Path[name]]), 1)
	}
	wire := *t.url
	var err error
	if wire.Path, err = url.PathUnescape(path); err != nil {
		return connector.Failf(eventlog.Logic, "http.url", "the path of the url is not percent-encoded correctly")
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
		return nil, errors.New("it would stand inside of something that is not an object")
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

// CallSecrets names the secrets that the call carries.
func (c *Connector) CallSecrets(call connector.Call) []string { return c.lookAt(call.Params).secrets }
