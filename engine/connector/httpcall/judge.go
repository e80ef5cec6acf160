package httpcall

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/publicnet"
	"github.com/pawl-run/pawl/eventlog"
)

// Judge names a host that no call may go to, where the text of a script shows the whole host: in an address that is
// written out, or in the beginning of one that is put together. It names a read by another method than GET, too, that
// the configuration does not list, and a secret that is not configured or must not be sent to the host.
func (c *Connector) Judge(operation string, params *connector.Partial) []connector.Violation {
	if c.unknown {
		return nil
	}
	secrets := c.WrittenSecrets(params)
	found := c.unknownSecrets(secrets)
	texts := make(map[string]string, 2)
	for _, m := range params.Members {
		text := ""
		if json.Unmarshal(m.Value.Value, &text) == nil {
			texts[m.Name] = text
		} else if m.Name == "url" && holdsHost(m.Value.Prefix) {
			texts["begins"] = m.Value.Prefix
		}
	}
	address, whole := texts["url"]
	if !whole {
		address = texts["begins"]
	}
	if address == "" {
		return found
	}
	t, failure := c.parseTarget(address)
	if failure == nil {
		found = append(found, c.strayingSecrets(secrets, t)...)
	}
	if failure != nil && failure.Code == connector.CodeHost {
		return append(found, connector.Violation{Where: []string{"url"}, Code: failure.Code, Message: failure.Message,
			Fix: "add the host under connectors.http.hosts in pawl.yaml and start the engine again, or correct the address"})
	}
	if failure != nil || operation != "read" || !whole || texts["method"] == "" {
		return found // whatever else is wrong with it, the call says
	}
	if failure := t.host.reads.allows(texts["method"], t.url, t.host.name); failure != nil {
		return append(found, connector.Violation{Where: []string{"url"}, Code: failure.Code, Message: failure.Message,
			Fix: "list it under reads of the host in pawl.yaml and start the engine again, or call it in mutate"})
	}
	return found
}

// WrittenSecrets lists the secrets that the parameters name, where their text shows the name.
func (c *Connector) WrittenSecrets(params *connector.Partial) []connector.WrittenSecret {
	var list []connector.WrittenSecret
	for _, secret := range params.Members {
		if secret.Name != "secret" {
			continue
		}
		for _, place := range secret.Value.Members { // header, query, body
			for _, m := range place.Value.Members {
				name := ""
				if json.Unmarshal(m.Value.Value, &name) == nil && name != "" {
					list = append(list, connector.WrittenSecret{Name: name, Where: []string{secret.Name, place.Name, m.Name}})
				}
			}
		}
	}
	return list
}

// unknownSecrets names secrets that the configuration does not have.
func (c *Connector) unknownSecrets(secrets []connector.WrittenSecret) []connector.Violation {
	var found []connector.Violation
	for _, s := range secrets {
		if failure := c.named.known(s.Name); failure != nil {
			found = append(found, connector.Violation{Where: s.Where, Code: failure.Code, Message: failure.Message,
				Fix: "add it under secrets in pawl.yaml and start the engine again, or correct the name"})
		}
	}
	return found
}

// strayingSecrets names secrets that must not be sent to the target.
func (c *Connector) strayingSecrets(secrets []connector.WrittenSecret, t target) []connector.Violation {
	var found []connector.Violation
	for _, s := range secrets {
		if c.named.known(s.Name) != nil {
			continue
		}
		if failure := c.named.bound(s.Name, t); failure != nil {
			found = append(found, connector.Violation{Where: s.Where, Code: failure.Code, Message: failure.Message,
				Fix: "add the host to the hosts of the secret in pawl.yaml and start the engine again, or name another secret"})
		}
	}
	return found
}

// holdsHost reports whether the beginning of an address goes beyond its host.
func holdsHost(beginning string) bool {
	_, rest, found := strings.Cut(beginning, "://")
	return found && strings.ContainsAny(rest, "/?#")
}

// CallCheck refuses what Read and Perform refuse before they connect, and a URL that names an address which is not
// public. Names are not looked up.
func (c *Connector) CallCheck(call connector.Call) *eventlog.Failure {
	p, t, failure := c.parse(call)
	if failure != nil {
		return failure
	}
	method := methodOf(call, p)
	if methods[call.Operation] == "" {
		_, _, failure = c.checkRead(call, p, t)
	} else {
		_, _, failure = mutationRequest(method, call, p, t)
	}
	if failure == nil && !t.host.private && t.host.proxy == nil {
		if err := publicnet.Written(t.url.Hostname()); err != nil {
			failure = connector.Failf(eventlog.Permission, connector.CodeHostPrivate, "%s %v", placeOf(method, t), err)
		}
	}
	return c.blanks.now.Load().Failure(failure)
}

// CallAnswer judges the status of a written answer as that of a real one. An answer without a status is a result.
func (c *Connector) CallAnswer(call connector.Call, written json.RawMessage) connector.Outcome {
	applied := connector.Outcome{Status: connector.Applied, Result: written}
	var given struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
	}
	if json.Unmarshal(written, &given) != nil || given.Status == 0 {
		return applied
	}
	p, t, failure := c.parse(call)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	p.expectNotModified(call)
	if p.expects(given.Status) {
		return applied
	}
	a := answer{status: given.Status, header: http.Header{}, redact: c.blanks.now.Load(), body: given.Body}
	for name, value := range given.Headers {
		a.header.Set(name, value)
	}
	var text string
	if json.Unmarshal(given.Body, &text) == nil {
		a.body = []byte(text)
	}
	where := placeOf(methodOf(call, p), t)
	if methods[call.Operation] != "" {
		return outcomeOf(context.Background(), call, where, a, p)
	}
	if redirects(a.status) {
		return connector.FailedWith(connector.Failf(eventlog.Logic, "http.redirect", "%s answered %d: a GET goes on to "+
			"where this leads, so write what is answered there", where, a.status))
	}
	failure, _ = a.refusal(where)
	return connector.FailedWith(failure)
}

// methodOf is the method of a call's request.
func methodOf(call connector.Call, p params) string {
	switch {
	case methods[call.Operation] != "":
		return methods[call.Operation]
	case call.Operation == "read":
		return p.Method
	}
	return http.MethodGet
}
