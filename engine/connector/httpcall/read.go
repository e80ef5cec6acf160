package httpcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// maxRedirects is how many redirects a read follows.
const maxRedirects = 5

// Read performs a get, or a read by another method.
func (c *Connector) Read(ctx context.Context, call connector.Call) (json.RawMessage, error) {
	result, failure := c.read(ctx, call)
	if failure != nil {
		return nil, c.blanks.now.Load().Failure(failure)
	}
	return result, nil
}

func (c *Connector) read(ctx context.Context, call connector.Call) (json.RawMessage, *eventlog.Failure) {
	if call.Operation != "get" && call.Operation != "read" {
		return nil, connector.Failf(eventlog.Internal, connector.CodeKind, "http.%s is not a read", call.Operation)
	}
	p, t, failure := c.parse(call)
	if failure != nil {
		return nil, failure
	}
	headers, body, failure := c.checkRead(call, p, t)
	if failure != nil {
		return nil, failure
	}
	if call.Operation == "read" {
		return c.readBy(ctx, call, p, t, headers, body)
	}
	p.expectNotModified(call)
	return c.readFollowing(ctx, call, p, t, headers)
}

// checkRead refuses what no read of the target may ask. It returns the headers that the script gives, and the body of a
// read that is no GET.
func (c *Connector) checkRead(call connector.Call, p params, t target) (headers http.Header, body []byte,
	failure *eventlog.Failure) {
	headers, failure = scriptHeaders(p, t.host, true)
	if failure == nil {
		failure = secretOverrides(t)
	}
	if failure != nil || call.Operation != "read" {
		return headers, nil, failure
	}
	if failure := t.host.reads.allows(p.Method, t.url, t.host.name); failure != nil && !c.unknown {
		return nil, nil, failure
	}
	if body, failure = bodyWithType(p, headers); failure != nil {
		return nil, nil, failure
	}
	return headers, body, overrides(p, t, headers, body)
}

// readBy sends a read that is no GET. It follows no redirect: the configuration allows such a read for its own address
// only.
func (c *Connector) readBy(ctx context.Context, call connector.Call, p params, t target, headers http.Header,
	body []byte) (json.RawMessage, *eventlog.Failure) {
	addHostHeaders(headers, t, call)
	request := newRequest(p.Method, t, headers)
	request.Body, request.ContentLength = http.NoBody, int64(len(body))
	if len(body) > 0 {
		// It changes nothing, so net/http may send it again when a kept-alive connection has broken.
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		request.Body, _ = request.GetBody()
	}
	a, failure := c.exchange(ctx, call, request, t, t.host.oauth, false)
	if failure != nil {
		return nil, failure
	}
	if redirects(a.status) && !p.expects(a.status) {
		return nil, connector.Failf(eventlog.Logic, "http.redirect",
			"%s answered %d; a read by %s follows no redirect: use the address it moved to", placeOf(p.Method, t), a.status,
			p.Method)
	}
	return readResult(ctx, call, a, p, placeOf(p.Method, t))
}

// readFollowing sends a GET and follows redirects, where the script does not expect them.
func (c *Connector) readFollowing(ctx context.Context, call connector.Call, p params, t target, headers http.Header) (
	json.RawMessage, *eventlog.Failure) {
	first, carries := t, t.wire != nil || len(t.secret) > 0
	for range maxRedirects + 1 {
		// Kept for the next hop before the host's own headers are added.
		script := headers.Clone()
		addHostHeaders(headers, first, call)
		a, failure := c.exchange(ctx, call, newRequest(http.MethodGet, t, headers), t, first.host.oauth, false)
		if failure != nil {
			return nil, failure
		}
		location := a.header.Get("Location")
		if !redirects(a.status) || location == "" || p.expects(a.status) {
			return readResult(ctx, call, a, p, placeOf("GET", t))
		}
		next, failure := c.redirect(t, location)
		if failure != nil {
			return nil, failure
		}
		if carries && !sameOrigin(next.url, t.url) {
			return nil, connector.Failf(eventlog.Permission, "http.redirect",
				"%s redirects to %s://%s; a call that carries a secret follows redirects only to the same scheme, host and port",
				placeOf("GET", t), next.url.Scheme, next.url.Host)
		}
		if call.Reach != nil && hostOf(next) != hostOf(t) {
			if failure := call.Reach(hostOf(next)); failure != nil {
				return nil, failure
			}
		}
		// Headers of the script may be meant for its host only, like a token. The headers that the
		// configuration of the next host adds are for calls that the workflow makes: the host that redirects
		// must not choose what is asked in their name. So a hop to another host has no headers at all.
		if headers = script; next.host != t.host {
			headers, first = make(http.Header), target{host: &host{}}
		}
		t = next
	}
	return nil, connector.Failf(eventlog.Logic, "http.redirect", "%s: more than %d redirects", placeOf("GET", t),
		maxRedirects)
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return true
	}
	return false
}

// redirect checks the next hop of a read like a first one; it must not fall back to plain http.
func (c *Connector) redirect(from target, location string) (target, *eventlog.Failure) {
	next, err := from.sent().Parse(location)
	if err != nil {
		return target{}, connector.Failf(eventlog.Logic, "http.redirect",
			"%s redirects to something that is not an address", placeOf("GET", from))
	}
	if from.url.Scheme == "https" && next.Scheme == "http" {
		return target{}, connector.Failf(eventlog.Permission, "http.redirect",
			"%s redirects from https to http, which is not followed", placeOf("GET", from))
	}
	return c.parseTarget(next.String())
}

// exchange sends a request that changes nothing to the target, in its turn and with the access token of by, and reads
// the answer. question says that it asks what became of an earlier call.
func (c *Connector) exchange(ctx context.Context, call connector.Call, request *http.Request, t target, by *oauth,
	question bool) (answer, *eventlog.Failure) {
	where := placeOf(request.Method, t)
	if question {
		if failure := t.host.turns.Ask(ctx, call); failure != nil {
			return answer{}, failure
		}
	} else {
		own, failure := t.host.turns.Enter(ctx, call)
		if failure != nil {
			return answer{}, failure
		}
		defer own.End()
	}
	authorized, failure := by.authorize(ctx, call, request)
	if failure != nil {
		return answer{}, failure
	}
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	response, err := c.reads.RoundTrip(request.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err != nil && !connected.Load() {
		return answer{}, unreached(ctx, call, where, "could not connect", err)
	}
	if err != nil {
		return answer{}, noAnswer(ctx, call, where, err)
	}
	return authorized.judge(readAnswer(response, c.blanks.now.Load())), nil
}

func readResult(ctx context.Context, call connector.Call, a answer, p params, where string) (json.RawMessage,
	*eventlog.Failure) {
	if !p.expects(a.status) {
		failure, _ := a.refusal(where)
		return nil, failure
	}
	most := maxBody
	if p.ResponseEncoding == inBase64 {
		most = maxBinary
	}
	if errors.Is(a.err, errTooBig) || len(a.body) > most {
		return nil, connector.Failf(eventlog.Logic, connector.CodeReadLimit,
			"%s answered with more than %d bytes: ask for less at once", where, most)
	}
	if a.err != nil {
		return nil, noAnswer(ctx, call, where, a.err)
	}
	result, err := a.result(p.ResponseEncoding)
	if err != nil {
		return nil, connector.Failf(eventlog.Internal, connector.CodeAnswer, "%s answered %d, but %v", where, a.status,
			err)
	}
	return result, nil
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
