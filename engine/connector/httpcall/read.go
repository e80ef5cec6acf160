package httpcall

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// maxRedirects is how many redirects a read follows.
const maxRedirects = 5

// Read performs a get.
func (c *Connector) Read(ctx context.Context, call connector.Call) (json.RawMessage, error) {
	result, failure := c.read(ctx, call)
	if failure != nil {
		return nil, c.redact.Failure(failure)
	}
	return result, nil
}

func (c *Connector) read(ctx context.Context, call connector.Call) (json.RawMessage, *eventlog.Failure) {
	if call.Operation != "get" {
		return nil, connector.Failf(eventlog.Internal, connector.CodeKind, "http.%s is not a read", call.Operation)
	}
	p, t, failure := c.parse(call)
	if failure != nil {
		return nil, failure
	}
	headers, failure := scriptHeaders(p.Headers, t.host)
	if failure != nil {
		return nil, failure
	}
	ctx, cancel := context.WithTimeout(ctx, t.host.timeout)
	defer cancel()
	first, carries := t, t.wire != nil || len(t.secret) > 0
	for range maxRedirects + 1 {
		// Kept for the next hop before the host's own headers are added.
		script := headers.Clone()
		addHostHeaders(headers, first)
		a, failure := c.get(ctx, call, t, headers)
		if failure != nil {
			return nil, failure
		}
		location := a.header.Get("Location")
		if !redirects(a.status) || location == "" {
			return readResult(ctx, call, a, t)
		}
		next, failure := c.redirect(t, location)
		if failure != nil {
			return nil, failure
		}
		if carries && !sameOrigin(next.url, t.url) {
			return nil, connector.Failf(eventlog.Permission, "http.redirect",
				"%s redirects to %s://%s; a call that carries a secret is followed to the same scheme, host and port alone",
				place("GET", t), next.url.Scheme, next.url.Host)
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
	return nil, connector.Failf(eventlog.Logic, "http.redirect", "%s: more than %d redirects", place("GET", t),
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
			"%s redirects to something that is no address", place("GET", from))
	}
	if from.url.Scheme == "https" && next.Scheme == "http" {
		return target{}, connector.Failf(eventlog.Permission, "http.redirect",
			"%s redirects from https to http, which is not followed", place("GET", from))
	}
	return c.parseTarget(next.String())
}

// get sends one GET and reads the answer.
func (c *Connector) get(ctx context.Context, call connector.Call, t target, headers http.Header) (answer,
	*eventlog.Failure) {
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	response, err := c.reads.RoundTrip(newRequest(http.MethodGet, t, headers).WithContext(httptrace.WithClientTrace(ctx,
		trace)))
	if err != nil && !connected.Load() {
		return answer{}, unreached(ctx, call, place("GET", t), "could not connect", err)
	}
	if err != nil {
		return answer{}, noAnswer(ctx, call, place("GET", t), err)
	}
	return c.readAnswer(response), nil
}

func readResult(ctx context.Context, call connector.Call, a answer, t target) (json.RawMessage, *eventlog.Failure) {
	where := place("GET", t)
	if a.status < 200 || a.status > 299 {
		failure, _ := a.refusal(where)
		return nil, failure
	}
	if errors.Is(a.err, errTooBig) {
		return nil, connector.Failf(eventlog.Logic, connector.CodeReadLimit,
			"%s answered with more than %d bytes: ask for less at once", where, maxBody)
	}
	if a.err != nil {
		return nil, noAnswer(ctx, call, where, a.err)
	}
	result, err := a.result()
	if err != nil {
		return nil, connector.Failf(eventlog.Internal, connector.CodeAnswer, "%s answered %d, but %v", where, a.status,
			err)
	}
	return result, nil
}
