package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/pawl-run/pawl/engine/loopback"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
)

// CodeOrigin is the code of the problem that refuses a request that a page of another origin makes.
const CodeOrigin = "origin.forbidden"

// Guard decides which requests are answered, and names their callers. It is safe for concurrent use.
//
// A token keeps out other users and programs of the machine, and of the network. Web pages are kept out
// before that: a page can make a browser send requests here (refused as cross-origin, whatever the
// method), and it can make its own name resolve to an address of this machine and so become same-origin
// (refused by its Host).
type Guard struct {
	cfg    Config
	hashed [sha256.Size]byte
	// public is the origin under which this engine is reached from elsewhere, nil for none.
	public *url.URL
	// formKey makes the tokens of forms where a browser has no secret.
	formKey string
}

// Config of a Guard.
type Config struct {
	// Token opens everything and has no name; it is never shown.
	Token string
	// Address is the URL that this machine's commands find beside the Token; without it they get no proof.
	Address func() string
	// NoAuth lets every request in that does not come from a web page.
	NoAuth bool
	// PublicURL is the address under which this engine is reached from elsewhere; empty for none.
	PublicURL string
	// Named finds a valid named token by its hash. An error says that the tokens are not known now.
	Named func(hash string) (projections.Token, bool, error)
	// Login finds the open login of a browser by the hash of its secret. An error says that logins are not known now.
	Login func(hash string) (projections.Login, bool, error)
	// Installation names the log, and so the cookie in which browsers keep their secret.
	Installation string
}

// New returns the Guard of the configuration; the error is about its PublicURL.
func New(cfg Config) (*Guard, error) {
	g := &Guard{cfg: cfg, hashed: sha256.Sum256([]byte(cfg.Token))}
	if cfg.NoAuth {
		g.formKey = rand.Text()
	}
	if cfg.PublicURL == "" {
		return g, nil
	}
	var err error
	if g.public, err = ParsePublicURL(cfg.PublicURL); err != nil {
		return nil, err
	}
	return g, nil
}

// Prove answers a challenge with a proof that this engine knows its token.
func (g *Guard) Prove(challenge string) string {
	if g.cfg.Address == nil {
		return ""
	}
	return rpc.Proof(g.cfg.Token, g.cfg.Address(), challenge)
}

// Admit decides whether the request may be answered at all, and finds its caller. A public path is answered
// without a token, and has no caller.
func (g *Guard) Admit(r *http.Request, public bool) (*rpc.Caller, *rpc.Problem) {
	if !g.answersTo(r) {
		return nil, rpc.Problemf(http.StatusForbidden, "host.forbidden", "this engine does not answer to the name %q",
			eventlog.ClipName(hostOf(r.Host))).
			WithHint("use its address, such as http://127.0.0.1 with its port; a name by which it is reached from elsewhere " +
				"is set with --public-url")
	}
	if !g.sameOrigin(r) {
		return nil, rpc.Problemf(http.StatusForbidden, CodeOrigin,
			"a web page of another origin may not use this engine").
			WithHint("call it from a program, such as pawl or curl, or from a server of your own; a page in a browser cannot")
	}
	if public {
		return nil, nil
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	caller, p := g.Authenticate(scheme, strings.TrimSpace(given))
	if caller != nil || p != nil {
		return caller, p
	}
	return nil, rpc.Problemf(http.StatusUnauthorized, "token.required",
		"this engine asks for a token, and was given none that it knows").
		WithHint("send Authorization: Bearer with the token in DATA/http.token; on this machine pawl finds it by itself, " +
			"from elsewhere it takes PAWL_TOKEN with --url")
}

// Authenticate finds the caller of the credential; nil for an unknown one. A problem says that the named tokens are not
// known now: then only the local token opens the engine.
func (g *Guard) Authenticate(scheme, token string) (*rpc.Caller, *rpc.Problem) {
	if g.cfg.NoAuth {
		return &rpc.Caller{Role: rpc.Admin, Key: "anyone"}, nil
	}
	// Hashes are compared, so that the time this takes depends neither on the content nor on the length.
	got := sha256.Sum256([]byte(token))
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return nil, nil
	case subtle.ConstantTimeCompare(got[:], g.hashed[:]) == 1:
		return &rpc.Caller{Role: rpc.Admin, Key: "local"}, nil
	case !strings.HasPrefix(token, TokenPrefix):
		return nil, nil
	}
	hash := hex.EncodeToString(got[:])
	known, ok, err := g.cfg.Named(hash)
	switch {
	case err != nil:
		return nil, rpc.Problemf(http.StatusServiceUnavailable, "tokens.unknown",
			"named tokens cannot be checked now").WithCause(err).
			WithHint("ask again in a moment; the engine's own token (DATA/http.token) is accepted, and pawl verify says what " +
				"is wrong with its log")
	case !ok:
		return nil, nil
	}
	return &rpc.Caller{
		Actor: eventlog.Actor{Kind: rpc.ActorUser, Name: string(known.Name), Verified: true}, Role: rpc.Role(known.Role),
		Workflow: known.Workflow,
		Key:      tokenKey(known.Name), TokenHash: hash,
	}, nil
}

// Open reports whether the caller may go on: a token that was revoked after it was shown opens nothing, and neither
// does a login that was closed.
func (g *Guard) Open(c *rpc.Caller) bool {
	if c.LoginHash != "" {
		_, ok, err := g.cfg.Login(c.LoginHash)
		return ok && err == nil
	}
	if c.TokenHash == "" {
		return true
	}
	_, ok, err := g.cfg.Named(c.TokenHash)
	return ok && err == nil
}

// answersTo reports whether the request's Host is one of this engine's: loopback by name or address, the host of the
// public URL, or on a listener beyond loopback any address. A page can make its own name resolve to this machine, but
// not an address.
func (g *Guard) answersTo(r *http.Request) bool {
	host := hostOf(r.Host)
	if loopback.Called(host) || g.answersPublic(r) {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && r.Context().Value(exposedKey{}) != nil
}

// answersPublic reports whether the request came for the name of the public URL.
func (g *Guard) answersPublic(r *http.Request) bool {
	return g.public != nil && strings.EqualFold(hostOf(r.Host), g.public.Hostname())
}

// sameOrigin reports whether the request comes from no web page, or from one of this engine's origin.
// Browsers that send neither header send no token either.
func (g *Guard) sameOrigin(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return false
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" {
			return false // also for "null", which a page sends that hides its origin
		}
		own := strings.EqualFold(u.Host, r.Host)
		if !own && (g.public == nil || u.Scheme != g.public.Scheme || !strings.EqualFold(u.Host, g.public.Host)) {
			return false
		}
	}
	return true
}

// callerKey marks the context of requests whose caller is known.
type callerKey struct{}

// WithCaller attaches its caller to the request.
func WithCaller(r *http.Request, c *rpc.Caller) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
}

// CallerOf is the caller of the request, with the name that the token carries or the request claims.
func CallerOf(r *http.Request) (*rpc.Caller, *rpc.Problem) {
	known, ok := r.Context().Value(callerKey{}).(*rpc.Caller)
	if !ok {
		return nil, rpc.Problemf(http.StatusUnauthorized, "token.required",
			"this operation needs a token").WithHint("send Authorization: Bearer with the engine's token")
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

// hostOf cuts the port off a Host header.
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}
