package httpcall

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/publicnet"
	"github.com/pawl-run/pawl/eventlog"
)

// CallCheck refuses what Read and Perform refuse before they connect, and an address that its URL shows to be none of
// a public host. Addresses that names stand for are not looked up.
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
			failure = connector.Failf(eventlog.Permission, connector.CodeHostPrivate, "%s %v", place(method, t), err)
		}
	}
	return c.blanks.now.Load().Failure(failure)
}

// CallAnswer judges the status of an answer, as that of a real one. One without a status is a result.
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
	where := place(methodOf(call, p), t)
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
