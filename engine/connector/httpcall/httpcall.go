package httpcall

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// maxConnections is how many connections to one host each transport has at most, one for each call at
// once, also while it is listened to after its deadline. A call that gets none within its time was not sent.
// An open call never gives its connection up to another: the host may still carry it out, and nothing but its own
// end says when it no longer does.
const maxConnections = 256

// methods of the operations.
var methods = map[string]string{
	"get": http.MethodGet, "post": http.MethodPost, "put": http.MethodPut,
	"patch": http.MethodPatch, "delete": http.MethodDelete,
}

// Connector is the http connector.
type Connector struct {
	hosts      hosts
	unknown    bool // Config.HostsUnknown
	redact     *redactor
	listen     time.Duration
	operations []connector.Operation

	// reads may be resent by net/http; that is harmless. It shares no connection with mutations.
	reads *http.Transport
	// mutations keeps connections for requests that have a body which cannot be replayed.
	mutations *http.Transport
	// alone uses every connection once: for requests that net/http could replay otherwise.
	alone *http.Transport

	// closed ends the calls that listen on for a late answer.
	closed context.Context
	close  context.CancelFunc
}

// New makes the connector. Errors name the configuration key.
func New(config Config) (*Connector, error) {
	byAddress, err := newHosts(config.Hosts)
	if err != nil {
		return nil, err
	}
	secrets := slices.Clone(config.Secrets)
	for _, h := range byAddress {
		secrets = append(secrets, h.secrets...)
	}
	c := &Connector{hosts: byAddress, unknown: config.HostsUnknown, redact: newRedactor(secrets), listen: config.Listen}
	if c.listen == 0 {
		c.listen = connector.DefaultListen
	}
	d := &dialer{hosts: byAddress, tls: &tls.Config{
		RootCAs: config.RootCAs, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12,
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}}
	c.reads, c.mutations, c.alone = newTransport(d), newTransport(d), newTransport(d)
	c.reads.DisableCompression = false
	c.alone.DisableKeepAlives = true
	c.closed, c.close = context.WithCancel(context.Background())

	timeout, reconciles := time.Duration(0), false
	for _, h := range byAddress {
		timeout = max(timeout, h.timeout)
		reconciles = reconciles || h.reconcile != nil
	}
	c.operations = []connector.Operation{{
		Name: "get", Kind: connector.Get, Schema: json.RawMessage(readSchema), Timeout: timeout,
		Summary: "GET {url, query?, headers?} -> {status, headers, body}",
	}}
	for _, name := range []string{"post", "put", "patch", "delete"} {
		c.operations = append(c.operations, connector.Operation{
			Name: name, Kind: connector.Mutate, Schema: json.RawMessage(mutateSchema), Timeout: timeout,
			Reconciles: reconciles,
			Summary:    methods[name] + " {url, query?, headers?, body? (JSON) | text?} -> {status, headers, body}",
		})
	}
	return c, nil
}

func newTransport(d *dialer) *http.Transport {
	var http1 http.Protocols
	http1.SetHTTP1(true)
	return &http.Transport{
		// No proxy: the address dialled must be the host's own.
		DialContext: d.dial, DialTLSContext: d.dialTLS,
		// HTTP/2 has resends of its own.
		Protocols: &http1, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
		DisableCompression: true,
		MaxIdleConns:       256, MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second,
		MaxConnsPerHost:        maxConnections,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// Name is "http".
func (c *Connector) Name() string { return "http" }

// Operations lists get, post, put, patch and delete.
func (c *Connector) Operations() []connector.Operation { return c.operations }

// Close ends the calls that listen on after their deadline and drops idle connections.
func (c *Connector) Close() error {
	c.close()
	for _, transport := range []*http.Transport{c.reads, c.mutations, c.alone} {
		transport.CloseIdleConnections()
	}
	return nil
}

// ReconcilesCall says whether the call's host is configured with a way to reconcile.
func (c *Connector) ReconcilesCall(call connector.Call) bool {
	_, t, failure := c.parse(call)
	return failure == nil && t.host.reconcile != nil
}

// CallHost is the host of the call's URL.
func (c *Connector) CallHost(call connector.Call) string {
	if t, ok := c.targetOf(call); ok {
		return hostOf(t)
	}
	return ""
}

// hostOf is a target's host as grants write it: without the ports of the schemes, whichever scheme the target has. A
// host that is configured without a port may be called at both, by both.
func hostOf(t target) string {
	name, err := canonicalHost(t.url.Hostname())
	port := t.url.Port()
	switch {
	case err != nil:
		return "" // such a target has no configured host
	case port != "" && port != "80" && port != "443":
		return net.JoinHostPort(name, port)
	case strings.Contains(name, ":"): // IPv6
		return "[" + name + "]"
	}
	return name
}

// CallEnding is what the configuration of the call's host says. Its quiet time is the operator's word
// for all that the host may go on with, whether the end of the exchange was seen or not.
func (c *Connector) CallEnding(call connector.Call) connector.Ending {
	if t, ok := c.targetOf(call); ok && t.host.quiet != nil {
		return connector.Ending{Quiet: *t.host.quiet, Unseen: *t.host.quiet, Lasting: *t.host.quiet}
	}
	return connector.DefaultEnding()
}

// targetOf finds where a call goes; false for one that is refused before it is sent.
func (c *Connector) targetOf(call connector.Call) (target, bool) {
	var p struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(call.Params, &p) != nil {
		return target{}, false
	}
	t, failure := c.parseTarget(p.URL)
	return t, failure == nil
}

// CallTimeout is the timeout of the call's host.
func (c *Connector) CallTimeout(call connector.Call) time.Duration {
	if t, ok := c.targetOf(call); ok {
		return t.host.timeout
	}
	return 0
}

// Perform sends a mutation once.
func (c *Connector) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	return c.redact.outcome(c.perform(ctx, call))
}

func (c *Connector) perform(ctx context.Context, call connector.Call) connector.Outcome {
	method := methods[call.Operation]
	if method == "" || method == http.MethodGet {
		return connector.FailedWith(connector.Failf(eventlog.Internal, connector.CodeKind, "http.%s is not a mutation",
			call.Operation))
	}
	p, t, failure := c.parse(call)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	request, alone, failure := mutationRequest(method, call, p, t)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	transport := c.mutations
	if alone {
		transport = c.alone
	}
	ctx, cancelTimeout := context.WithTimeout(ctx, t.host.timeout)
	defer cancelTimeout()
	// The request's own context outlives the deadline when the request has left by then: all
	// that happens afterwards is reading.
	f := flight{gate: func() *eventlog.Failure { return connector.MayLeave(ctx, call) }}
	requestCtx, cancel := context.WithCancel(httptrace.WithClientTrace(context.WithoutCancel(ctx), f.trace()))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		if c.listen <= 0 || !f.wrote.Load() || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			cancel()
			return
		}
		timer := time.NewTimer(c.listen)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.closed.Done():
		case <-requestCtx.Done():
		}
		cancel()
	})
	defer stop()

	response, err := transport.RoundTrip(request.WithContext(requestCtx))
	if err != nil {
		if f.neverLeft() {
			if refused := f.refused(); refused != nil {
				return connector.FailedWith(refused)
			}
			return connector.FailedWith(unreached(ctx, call, place(method, t), "was not sent", err))
		}
		return connector.UncertainWith(noAnswer(ctx, call, place(method, t), err))
	}
	return outcomeOf(ctx, call, place(method, t), c.readAnswer(response))
}

// outcomeOf reads the answer to a mutation (F4).
func outcomeOf(ctx context.Context, call connector.Call, where string, a answer) connector.Outcome {
	if a.status >= 200 && a.status <= 299 {
		if a.err != nil && !errors.Is(a.err, errTooBig) {
			return connector.UncertainWith(noAnswer(ctx, call, where, a.err))
		}
		result, err := a.result()
		if err != nil {
			failure := connector.Failf(eventlog.Internal, connector.CodeAnswer, "%s answered %d, but %v", where,
				a.status, err)
			return connector.Outcome{Status: connector.Uncertain, Failure: failure, Answered: true}
		}
		return connector.Outcome{Status: connector.Applied, Result: result}
	}
	failure, definite := a.refusal(where)
	if a.status >= 300 && a.status <= 399 {
		failure = connector.Failf(failure.Class, "http.redirect",
			"%s answered %d; a mutation follows no redirect: use the address it moved to", where, a.status)
	}
	if definite {
		return connector.FailedWith(failure)
	}
	onTheWay := relayed(a.status)
	return connector.Outcome{Status: connector.Uncertain, Failure: failure, Answered: a.complete() && !onTheWay,
		Relayed: onTheWay}
}

// relayed says whether a status may come from an intermediary, such as a proxy that has stopped waiting:
// the server behind it may still be at work.
func relayed(status int) bool {
	return status == http.StatusRequestTimeout || status >= http.StatusBadGateway
}

// unreached describes a call that never left: a failed connection, or one that was dead already.
func unreached(ctx context.Context, call connector.Call, where, what string, err error) *eventlog.Failure {
	var refused *refusedAddress
	if errors.As(err, &refused) {
		return connector.Failf(eventlog.Permission, connector.CodeHostPrivate, "%s %s: %v", where, what, refused)
	}
	if ended := connector.ContextFailure(ctx, call); ended != nil {
		ended.Message += ": no connection for " + where
		return ended
	}
	return connector.Failf(eventlog.Transient, "http.connect", "%s %s: %v", where, what, cause(err))
}

// noAnswer describes a call whose answer is missing or broke off.
func noAnswer(ctx context.Context, call connector.Call, where string, err error) *eventlog.Failure {
	if ended := connector.ContextFailure(ctx, call); ended != nil {
		ended.Message += ": " + where
		return ended
	}
	return connector.Failf(eventlog.Transient, "http.answer", "%s has no usable answer: %v", where, cause(err))
}

// cause says it of a connection that was closed, and else drops the URL that net/http writes into some errors: its
// query may be confidential.
func cause(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the other side closed the connection")
	}
	var urlError *url.Error
	if errors.As(err, &urlError) {
		return urlError.Err
	}
	return err
}
