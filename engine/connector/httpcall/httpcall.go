package httpcall

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/engine/connector/turn"
	"github.com/pawl-run/pawl/eventlog"
)

// methods of the mutations.
var methods = map[string]string{
	"post": http.MethodPost, "put": http.MethodPut,
	"patch": http.MethodPatch, "delete": http.MethodDelete,
}

// mutationIdle is how long a connection may have been unused before a mutation leaves over it. Servers close unused
// connections, many after 2 or 5 seconds, and a request that leaves at that moment has an unknown outcome.
const mutationIdle = time.Second

// Connector is the http connector.
type Connector struct {
	hosts      hosts
	named      named
	unknown    bool          // Config.HostsUnknown
	turns      []*turn.Queue // those of the hosts with bounds
	looks      connector.ParamsCache[*look]
	blanks     *blanks
	listen     time.Duration
	operations []connector.Operation

	// reads may be resent by net/http; that is harmless. It shares no connection with mutations.
	reads *http.Transport
	// mutations keeps connections for requests that have a body which cannot be replayed.
	mutations *http.Transport
	// alone uses every connection once: for requests that net/http could replay otherwise.
	alone *http.Transport

	// tokens are where access tokens come from.
	tokens []*http.Transport

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
	bound, err := newNamed(config.Named)
	if err != nil {
		return nil, err
	}
	for _, name := range config.Named.Names() {
		named, _ := config.Named.Lookup(name)
		for _, value := range named.Values() {
			secrets = append(secrets, redact.Parts(value)...)
		}
	}
	c := &Connector{hosts: byAddress, named: bound, unknown: config.HostsUnknown, blanks: newBlanks(secrets),
		listen: config.Listen}
	if c.listen == 0 {
		c.listen = connector.DefaultListen
	}
	d := &dialer{hosts: byAddress, tls: &tls.Config{
		RootCAs: config.RootCAs, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12,
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}}
	c.reads, c.mutations, c.alone = newTransport(d), newTransport(d), newTransport(d)
	c.reads.DisableCompression = false
	c.mutations.IdleConnTimeout = mutationIdle
	c.alone.DisableKeepAlives = true
	c.closed, c.close = context.WithCancel(context.Background())

	shareRefreshTokens(byAddress)
	timeout, reconciles := time.Duration(0), false
	for _, h := range byAddress {
		if h.turns != nil && !slices.Contains(c.turns, h.turns) {
			c.turns = append(c.turns, h.turns)
		}
		if h.oauth != nil && h.oauth.client == nil {
			c.openOAuth(h, d.tls)
			if err := h.oauth.resume(config.RefreshTokens); err != nil {
				return nil, wrongHost(h.name, err)
			}
		}
		timeout = max(timeout, h.timeout)
		reconciles = reconciles || h.reconcile != nil
	}
	c.operations = []connector.Operation{{
		Name: "get", Kind: connector.Get, Schema: json.RawMessage(getSchema), Timeout: timeout,
		Result:  json.RawMessage(resultSchema),
		Summary: "GET {url, query?, headers?, ifNoneMatch?, expect?, responseEncoding?, secret?} -> {status, headers, body}",
	}, {
		Name: "read", Kind: connector.List, Schema: json.RawMessage(readSchema), Timeout: timeout,
		Result: json.RawMessage(resultSchema),
		Summary: "a read by POST or the like, where the host's configuration lists it {method, url, query?, headers?, " +
			"body? | text? | form?, expect?, responseEncoding?, secret?} -> {status, headers, body}",
	}}
	for _, name := range []string{"post", "put", "patch", "delete"} {
		c.operations = append(c.operations, connector.Operation{
			Name: name, Kind: connector.Mutate, Schema: json.RawMessage(mutateSchema), Timeout: timeout,
			Result: json.RawMessage(resultSchema), Reconciles: reconciles,
			Summary: methods[name] + " {url, query?, headers?, body? (JSON) | text? | base64? | form? | multipart?, ifMatch?, " +
				"ifNoneMatch?, expect?, responseEncoding?, secret?} -> {status, headers, body}",
		})
	}
	return c, nil
}

// openOAuth makes the client that asks for the tokens of the host. Addresses are checked as those of the host are.
func (c *Connector) openOAuth(h *host, config *tls.Config) {
	at := hosts{addressOf(h.oauth.at): {name: h.oauth.at.Host, private: h.private, proxy: h.proxy}}
	transport := newTransport(&dialer{hosts: at, tls: config})
	c.tokens = append(c.tokens, transport)
	h.oauth.client = &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	h.oauth.learned = c.blanks.learn
}

// Name is "http".
func (c *Connector) Name() string { return "http" }

// Operations lists get, read, post, put, patch and delete.
func (c *Connector) Operations() []connector.Operation { return c.operations }

// Waiting lists the workflow's calls that wait for their turn at a host, by host and run.
func (c *Connector) Waiting(workflow eventlog.WorkflowName) []connector.Waiting {
	return turn.Waiting(workflow, c.turns...)
}

// Close ends the calls that listen on after their deadline and drops idle connections.
func (c *Connector) Close() error {
	c.close()
	for _, transport := range append([]*http.Transport{c.reads, c.mutations, c.alone}, c.tokens...) {
		transport.CloseIdleConnections()
	}
	return nil
}
