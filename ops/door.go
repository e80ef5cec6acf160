package ops

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
)

// tokenPrefix begins every token.
const tokenPrefix = "pawl_"

// door decides who comes in over HTTP.
//
// A token keeps out other users and programs of the machine, and of the network. Web pages are kept out
// before that: a page can make a browser send requests here (refused as cross-origin, whatever the
// method), and it can make its own name resolve to an address of this machine and so become same-origin
// (refused by its Host).
type door struct {
	token  [sha256.Size]byte
	noAuth bool
	// prove answers a challenge with what shows that this engine knows its token.
	prove func(challenge string) string
	// named finds a named token in use by its hash.
	named func(hash string) (projections.Token, bool, error)
	// public is the origin under which this engine is reached from elsewhere, nil for none.
	public *url.URL
}

func newDoor(cfg *Config) (*door, error) {
	d := &door{token: sha256.Sum256([]byte(cfg.Token)), noAuth: cfg.NoAuth, named: cfg.Engine.Token}
	d.prove = func(challenge string) string { return rpc.Proof(cfg.Token, challenge) }
	if cfg.PublicURL == "" {
		return d, nil
	}
	var err error
	if d.public, err = ParsePublicURL(cfg.PublicURL); err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	return d, nil
}

// ParsePublicURL reads the address under which an engine is reached from elsewhere: http or https, host
// and port.
func ParsePublicURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the public URL is no URL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.User != nil, strings.Trim(u.Path, "/") != "", u.RawQuery != "", u.Fragment != "":
		return nil, fmt.Errorf("the public URL must be http or https with host and port alone, such as https://pawl.example.com")
	}
	return &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}, nil
}

// admit decides whether the request may be answered at all, and who sends it. What is public is answered
// without a token, and has no caller.
func (d *door) admit(r *http.Request, public bool) (*rpc.Caller, *rpc.Problem) {
	if !d.answersTo(r) {
		return nil, rpc.Problemf(http.StatusForbidden, "host.forbidden", "this engine does not answer to the name %q", rpc.Clip(hostOf(r.Host))).
			WithHint("use its address, such as http://127.0.0.1 with its port; a name by which it is reached from elsewhere is set with --public-url")
	}
	if !d.sameOrigin(r) {
		return nil, rpc.Problemf(http.StatusForbidden, "origin.forbidden", "a web page of another origin may not use this engine").
			WithHint("call it from a program, such as pawl or curl, or from a server of your own; a page in a browser cannot")
	}
	if public {
		return nil, nil
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	caller, p := d.authenticate(scheme, strings.TrimSpace(given))
	if caller != nil || p != nil {
		return caller, p
	}
	return nil, rpc.Problemf(http.StatusUnauthorized, "token.required", "this engine asks for a token, and was given none that it knows").
		WithHint("send Authorization: Bearer with the token in DATA/http.token; on this machine pawl finds it by itself, from elsewhere it takes PAWL_TOKEN with --url")
}

// authenticate finds the caller to whom the credential belongs; nil for one that is not known. A problem
// says that the named tokens are not known now: then the local one opens the engine, and no other.
func (d *door) authenticate(scheme, token string) (*rpc.Caller, *rpc.Problem) {
	if d.noAuth {
		return &rpc.Caller{Role: rpc.Admin, Key: "anyone"}, nil
	}
	// Hashed first, so that neither content nor length shows in the time this takes.
	got := sha256.Sum256([]byte(token))
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return nil, nil
	case subtle.ConstantTimeCompare(got[:], d.token[:]) == 1:
		return &rpc.Caller{Role: rpc.Admin, Key: "local"}, nil
	case !strings.HasPrefix(token, tokenPrefix):
		return nil, nil
	}
	hash := hex.EncodeToString(got[:])
	known, ok, err := d.named(hash)
	switch {
	case err != nil:
		return nil, rpc.Problemf(http.StatusServiceUnavailable, "tokens.unknown", "named tokens cannot be checked now").WithCause(err).
			WithHint("ask again in a moment; the engine's own token (DATA/http.token) is accepted, and pawl verify says what is wrong with its log")
	case !ok:
		return nil, nil
	}
	return &rpc.Caller{
		Actor: eventlog.Actor{Kind: rpc.ActorUser, Name: string(known.Name), Verified: true}, Role: rpc.Role(known.Role), Workflow: known.Workflow,
		Key: "token " + string(known.Name), TokenHash: hash,
	}, nil
}

// open reports whether the caller may go on: a token that was revoked after it was shown opens nothing.
func (d *door) open(c *rpc.Caller) bool {
	if c.TokenHash == "" {
		return true
	}
	_, ok, err := d.named(c.TokenHash)
	return ok && err == nil
}

// answersTo reports whether the request's Host is one of this engine's: loopback by name or address, the
// public URL's, or on a listener beyond loopback any address. An address is no name that a page could
// make point here.
func (d *door) answersTo(r *http.Request) bool {
	host := hostOf(r.Host)
	if rpc.IsLoopback(host) || d.public != nil && strings.EqualFold(host, d.public.Hostname()) {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && r.Context().Value(exposedKey{}) != nil
}

// sameOrigin reports whether the request comes from no web page, or from one of this engine's origin.
// Browsers that send neither header send no token either.
func (d *door) sameOrigin(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return false
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" {
			return false // also "null": a page that hides where it is from
		}
		own := strings.EqualFold(u.Host, r.Host)
		if !own && (d.public == nil || u.Scheme != d.public.Scheme || !strings.EqualFold(u.Host, d.public.Host)) {
			return false
		}
	}
	return true
}

// callerKey marks the context of requests whose caller is known.
type callerKey struct{}

// callerOf is who sends the request, with the name that it carries or claims.
func callerOf(r *http.Request) (*rpc.Caller, *rpc.Problem) {
	known, ok := r.Context().Value(callerKey{}).(*rpc.Caller)
	if !ok {
		return nil, rpc.Problemf(http.StatusUnauthorized, "token.required", "this operation needs a token").WithHint("send Authorization: Bearer with the engine's token")
	}
	caller := *known
	if caller.Actor.Name == "" {
		var p *rpc.Problem
		if caller.Actor, p = rpc.ClaimedActor(r.Header.Get(rpc.ActorHeader)); p != nil {
			return nil, p
		}
	}
	return &caller, nil
}

// exposedKey marks the context of requests that came through a listener beyond loopback.
type exposedKey struct{}

func exposed(ctx context.Context, addr net.Addr) context.Context {
	if beyondLoopback(addr) {
		return context.WithValue(ctx, exposedKey{}, true)
	}
	return ctx
}

func beyondLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback()
}

// Listening is what CheckListen has to know beside the address.
type Listening struct {
	TLS bool
	// Plaintext says that TLS ends before this engine, at a proxy.
	Plaintext bool
	NoAuth    bool
}

// CheckListen refuses to open an engine to the network without protection: beyond loopback it needs TLS,
// its own or that of a proxy before it, and always a token.
func CheckListen(addr string, l Listening) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen on %q: want HOST:PORT, e.g. 127.0.0.1:7070: %w", addr, err)
	}
	switch {
	case rpc.IsLoopback(host):
		return nil
	case l.NoAuth:
		return fmt.Errorf("refusing to listen on %s: --no-auth is for loopback only; beyond it anyone could operate this engine", addr)
	case l.TLS || l.Plaintext:
		return nil
	}
	return fmt.Errorf("refusing to listen on %s: beyond loopback tokens and data would travel unencrypted; give --tls-cert and --tls-key, listen on 127.0.0.1, or pass --plaintext if TLS ends before this engine, at a proxy of yours",
		addr)
}

// hostOf cuts the port off a Host header.
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}
