package httpcall

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/idna"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/tunnel"
	"github.com/pawl-run/pawl/engine/connector/turn"
	"github.com/pawl-run/pawl/engine/secret"
)

// Config of the http connector. Secrets in it have been expanded already.
type Config struct {
	// Hosts are the only hosts that may be called: `api.example.com` for the default ports of
	// https and http, `127.0.0.1:9000` for exactly that port.
	Hosts map[string]HostConfig `yaml:"hosts"`
	// HostsUnknown says that Hosts are not the engine's: a check without an engine does not know those, and refuses no
	// host.
	HostsUnknown bool `yaml:"-"`
	// Secrets are the values that were filled in from outside the configuration, wherever they stand in
	// it. They are blanked out of everything that comes back.
	Secrets []string `yaml:"-"`
	// Named are the secrets that a call may carry, by name, each bound to its hosts. They are blanked out too.
	Named secret.Set `yaml:"-"`
	// Listen is how long to listen on for the answer to a mutation after its deadline;
	// 0 means connector.DefaultListen, negative not at all.
	Listen time.Duration `yaml:"-"`
	// RefreshTokens keeps what takes the place of the hosts' refresh tokens; nil keeps it until Close.
	RefreshTokens RefreshTokens `yaml:"-"`
	// RootCAs verify servers; nil means the system's. A seam for tests.
	RootCAs *x509.CertPool `yaml:"-"`
}

// HostConfig is what holds for one host.
type HostConfig struct {
	// Headers are sent with every request to this host and to no other; scripts cannot set or see them.
	Headers map[string]string `yaml:"headers"`
	// Timeout bounds one call; 0 means connector.DefaultTimeout.
	Timeout time.Duration `yaml:"timeout"`
	// Quiet is how long the host may go on with a call after its connection was closed without an
	// answer, or after its deadline when a crash of ours closed it; nil means connector.DefaultEnding.
	// Until then no "failed" of Reconcile is believed.
	Quiet *time.Duration `yaml:"quiet"`
	// Concurrency is how many calls may be under way at the host at once, 0 for no bound; a call takes its place until
	// its exchange is over, also while it is listened to after its deadline.
	Concurrency int `yaml:"concurrency"`
	// Rate is how many requests may be sent to the host, as in "10/s", "300/m" or "5/h", evenly spaced; empty for no
	// bound.
	Rate string `yaml:"rate"`
	// Private allows private, loopback and link-local addresses, and plain http with Headers.
	Private bool `yaml:"private"`
	// Proxy is where the host's requests go through, as in "http://proxy.example.com:3128", with user and password
	// where it asks for them; empty for none. No proxy is ever taken from the environment.
	Proxy string `yaml:"proxy"`
	// OAuth says where the header Authorization of requests to this host comes from; nil for nowhere.
	OAuth *OAuthConfig `yaml:"oauth"`
	// Reads are requests that change nothing although their method is not GET: "POST /v1/search", method and decoded path.
	// They may be sent by http.read, as often as a script runs.
	Reads []string `yaml:"reads"`
	// Reconcile says how to find out what became of a mutation; nil means that it cannot be found out.
	Reconcile *ReconcileConfig `yaml:"reconcile"`
}

// standIn takes the place of every secret where none is needed.
const standIn = "known to the engine alone"

// WithoutSecrets is the configuration for a connector that is only asked what it refuses and what can be asked of the
// host: headers keep their names, and an access token is one more of them.
func (h HostConfig) WithoutSecrets() HostConfig {
	bare := HostConfig{Headers: make(map[string]string, len(h.Headers)+1), Timeout: h.Timeout, Private: h.Private,
		Reads: h.Reads, Reconcile: h.Reconcile}
	for name := range h.Headers {
		bare.Headers[name] = standIn
	}
	if h.OAuth != nil {
		bare.Headers["Authorization"] = standIn
	}
	if h.Proxy != "" {
		bare.Proxy = "http://localhost:3128"
	}
	return bare
}

// ReconcileConfig describes one GET request that tells whether a mutation was applied, or says that the mutation itself
// may be sent again to find that out. An answer that matches neither rule means: not known yet.
type ReconcileConfig struct {
	// Resend is the operator's promise that the host carries out one call for each Idempotency-Key, however often it is
	// sent, and answers 2xx to one that it has carried out. Then there is no Get and no Applied.
	Resend bool `yaml:"resend"`
	// Within is for how long after the first request the host keeps that promise; at least minWithin.
	Within time.Duration `yaml:"within"`
	// Get is a path with query on the host of the call; {idempotencyKey} is replaced, percent-encoded.
	Get string `yaml:"get"`
	// Applied is the answer that proves that the call took effect.
	Applied Rule `yaml:"applied"`
	// Failed is the answer that proves that the call did not take effect and never can any more.
	Failed Rule `yaml:"failed"`
}

// Rule matches an answer; a Rule with Status 0 matches none.
type Rule struct {
	Status int `yaml:"status"`
}

// minWithin is the shortest Within: nothing is sent again in its last minute.
const minWithin = 5 * time.Minute

const keyPlaceholder = "{idempotencyKey}"

// host is one validated HostConfig.
type host struct {
	name      string // the configured key
	headers   http.Header
	secrets   []string // values that stand in the configuration itself
	timeout   time.Duration
	quiet     *time.Duration // nil unless the operator has said it
	private   bool
	proxy     *tunnel.Proxy // nil for none
	turns     *turn.Queue   // nil for no bounds
	oauth     *oauth        // nil for none
	reads     listedReads
	reconcile *ReconcileConfig
}

// sets says whether the configuration decides the header.
func (h *host) sets(canonical string) bool {
	return h.headers[canonical] != nil || h.oauth != nil && canonical == "Authorization"
}

// hosts finds a host by "name:port".
type hosts map[string]*host

func newHosts(configured map[string]HostConfig) (hosts, error) {
	if len(configured) == 0 {
		return nil, &connector.SettingError{Key: hostsKey,
			Err: errors.New(hostsKey + " is missing: name the hosts that may be called, e.g. hosts: " +
				"{api.example.com: {}}")}
	}
	byAddress := make(hosts)
	// Hosts with a port last: they are more specific than the default ports of a bare name.
	names := slices.SortedFunc(maps.Keys(configured), func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, ":"), strings.Count(b, ":")), cmp.Compare(a, b))
	})
	exact := make(map[string]string)
	for _, name := range names {
		h, addresses, err := newHost(name, configured[name])
		if err != nil {
			return nil, wrongHost(name, err)
		}
		for _, address := range addresses {
			if other, twice := exact[address]; twice && len(addresses) == 1 {
				return nil, wrongHost(name, fmt.Errorf("the same host as %s", other))
			}
			if len(addresses) == 1 {
				exact[address] = name
			} else if other, twice := byAddress[address]; twice && other.name != name {
				return nil, wrongHost(name, fmt.Errorf("the same host as %s", other.name))
			}
			byAddress[address] = h
		}
	}
	return byAddress, nil
}

func newHost(name string, config HostConfig) (*host, []string, error) {
	addresses, err := addressesOf(name)
	if err != nil {
		return nil, nil, err
	}
	h := &host{
		name: name, headers: make(http.Header, len(config.Headers)),
		timeout: config.Timeout, quiet: config.Quiet, private: config.Private,
	}
	if h.quiet != nil && *h.quiet < 0 {
		return nil, nil, wrong("quiet", "quiet: %s is negative", *h.quiet)
	}
	if h.timeout < 0 {
		return nil, nil, wrong("timeout", "timeout: %s is negative", config.Timeout)
	}
	if h.timeout == 0 {
		h.timeout = connector.DefaultTimeout
	}
	for header, value := range config.Headers {
		// The value may be a secret: no error repeats it.
		if !httpguts.ValidHeaderFieldName(header) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, nil, wrong("headers."+header, "headers: %q or its value is not a valid HTTP header", header)
		}
		if forbidden := forbiddenHeader(header); forbidden {
			return nil, nil, wrong("headers."+header, "headers: %s cannot be configured, pawl sets it itself", header)
		}
		h.headers.Set(header, value)
		h.secrets = append(h.secrets, secretsIn(header, value)...)
	}
	if config.Proxy != "" {
		if h.proxy, err = tunnel.New(config.Proxy); err != nil {
			return nil, nil, wrong("proxy", "proxy: %v", err)
		}
		if password := h.proxy.Password(); password != "" {
			h.secrets = append(h.secrets, password)
		}
	}
	if config.OAuth != nil {
		if h.headers["Authorization"] != nil {
			return nil, nil, wrong("oauth", "oauth: headers.Authorization is set too; keep one of them")
		}
		if h.oauth, err = newOAuth(name, *config.OAuth, config.Private); err != nil {
			return nil, nil, err
		}
		for _, value := range []string{config.OAuth.ClientSecret, config.OAuth.RefreshToken} {
			if value != "" {
				h.secrets = append(h.secrets, value)
			}
		}
	}
	if h.reads, err = newListedReads(config.Reads); err != nil {
		return nil, nil, err
	}
	if h.turns, err = newTurns(name, config.Concurrency, config.Rate); err != nil {
		return nil, nil, err
	}
	if config.Reconcile != nil {
		if err := config.Reconcile.validate(); err != nil {
			return nil, nil, err
		}
		rules := *config.Reconcile
		h.reconcile = &rules
	}
	return h, addresses, nil
}

func (r *ReconcileConfig) validate() error {
	if r.Resend {
		return r.validateResend()
	}
	switch {
	case r.Within != 0:
		return wrong("reconcile.within", "reconcile: within goes with resend: true")
	case !strings.HasPrefix(r.Get, "/") || strings.HasPrefix(r.Get, "//"):
		return wrong("reconcile.get", "reconcile: get: want a path on the host, e.g. /orders?key=%s", keyPlaceholder)
	case !strings.Contains(r.Get, keyPlaceholder):
		return wrong("reconcile.get", "reconcile: get: it has no %s, so it cannot ask for one call", keyPlaceholder)
	case r.Applied.Status == 0 && r.Failed.Status == 0:
		return wrong("reconcile", "reconcile: applied.status or failed.status is missing: no answer could "+
			"settle a call")
	case r.Applied.Status == r.Failed.Status:
		return wrong("reconcile.failed.status", "reconcile: applied and failed have the same status %d",
			r.Applied.Status)
	}
	for _, rule := range []struct {
		key string
		Rule
	}{{"applied", r.Applied}, {"failed", r.Failed}} {
		if rule.Status != 0 && (rule.Status < 200 || rule.Status > 599) {
			return wrong("reconcile."+rule.key+".status", "reconcile: %s.status: %d is not a status an answer can have",
				rule.key, rule.Status)
		}
	}
	if _, err := url.Parse(strings.ReplaceAll(r.Get, keyPlaceholder, "k")); err != nil {
		return wrong("reconcile.get", "reconcile: get: not a usable path")
	}
	return nil
}

// validateResend refuses what does not go with Resend, and an answer that is no proof: it may be that of a party on the
// way, or be another one later.
func (r *ReconcileConfig) validateResend() error {
	switch failed := r.Failed.Status; {
	case r.Get != "":
		return wrong("reconcile.get", "reconcile: get and resend exclude each other: the host is asked, or the call is sent "+
			"again")
	case r.Applied.Status != 0:
		return wrong("reconcile.applied", "reconcile: with resend, every 2xx is applied; leave applied out")
	case r.Within == 0:
		return wrong("reconcile", "reconcile: within is missing: for how long the host knows a key, e.g. within: 24h")
	case r.Within < minWithin:
		return wrong("reconcile.within", "reconcile: within: want at least %s, and not longer than the host knows a key",
			minWithin)
	case failed != 0 && (failed < 300 || failed > 499 || failed == http.StatusRequestTimeout ||
		failed == http.StatusTooEarly || failed == http.StatusTooManyRequests):
		return wrong("reconcile.failed.status", "reconcile: failed.status: with resend, want a 3xx or 4xx except 408, 425 "+
			"and 429: %d is no proof that the call can never take effect", failed)
	}
	return nil
}

// addressesOf lists the "name:port" that a configured host stands for.
func addressesOf(name string) ([]string, error) {
	if strings.ContainsAny(name, "/@?#") {
		return nil, errors.New("want a host name without scheme and path, with its port unless it is the default one")
	}
	if hostname, port, err := net.SplitHostPort(name); err == nil {
		canonical, err := canonicalHost(hostname)
		if err != nil {
			return nil, err
		}
		if _, err := net.LookupPort("tcp", port); err != nil {
			return nil, fmt.Errorf("%q is not a port", port)
		}
		return []string{net.JoinHostPort(canonical, port)}, nil
	}
	canonical, err := canonicalHost(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"))
	if err != nil {
		return nil, err
	}
	return []string{net.JoinHostPort(canonical, "443"), net.JoinHostPort(canonical, "80")}, nil
}

// canonicalHost writes a host name as it is dialled: lower case, ASCII.
func canonicalHost(name string) (string, error) {
	if name == "" {
		return "", errors.New("the host name is empty")
	}
	if strings.Contains(name, ":") { // IPv6
		return strings.ToLower(name), nil
	}
	for i := range len(name) {
		if name[i] >= 0x80 {
			ascii, err := idna.Lookup.ToASCII(name)
			if err != nil {
				return "", fmt.Errorf("%q is not a host name", name)
			}
			return ascii, nil
		}
	}
	return strings.ToLower(name), nil
}
