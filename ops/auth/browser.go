package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
)

// Browsers show a login instead of a token: a secret in a cookie that no script can read and no other site can send.
// Its hash is in the log, so that the login is valid at every engine of the installation.

// NewSecret makes the secret that a browser shows, of more than 128 random bits, with its hash.
func NewSecret() (secret, hash string) {
	secret = rand.Text()
	return secret, hashOf(secret)
}

// NewLoginID makes the id of a login.
func NewLoginID() eventlog.LoginID { return eventlog.LoginID(rand.Text()[:12]) }

func hashOf(secret string) string {
	hash := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(hash[:])
}

// cookieName depends on the installation, since browsers send the cookies of a host to all of its ports.
func (g *Guard) cookieName() string { return "pawl_" + hashOf(g.cfg.Installation)[:10] }

// SetCookie gives the browser its secret; an empty secret removes it.
func (g *Guard) SetCookie(w http.ResponseWriter, r *http.Request, secret string, life time.Duration) {
	cookie := &http.Cookie{Name: g.cookieName(), Value: secret, Path: "/", MaxAge: int(life.Seconds()), HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil || g.public != nil && g.public.Scheme == "https" &&
			g.answersPublic(r)}
	if secret == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// Shows reports whether the browser shows a secret of this installation, valid or not.
func (g *Guard) Shows(r *http.Request) bool {
	return g.cfg.NoAuth || len(r.CookiesNamed(g.cookieName())) > 0
}

// Browser finds the caller of a request by its cookie; nil for a browser that is not logged in. The second result is
// the token that forms of this browser must carry (see [FormOf]). A problem says that logins are not known now, or that
// the browser shows two.
func (g *Guard) Browser(r *http.Request) (*rpc.Caller, string, *rpc.Problem) {
	if g.cfg.NoAuth {
		return &rpc.Caller{Actor: eventlog.Actor{Kind: rpc.ActorAPI, Name: "anonymous"}, Role: rpc.Admin, Key: "anyone"},
			g.formToken(""), nil
	}
	shown := r.CookiesNamed(g.cookieName())
	for _, cookie := range shown {
		if cookie.Value != shown[0].Value {
			return nil, "", rpc.Problemf(http.StatusConflict, "logins.several", "the browser shows two logins of this engine: "+
				"another server under the same host name may have set one, so that you act under a wrong name").
				WithHint("delete the cookies of this address in the browser, and log in again with pawl open")
		}
	}
	if len(shown) > 0 {
		hash := hashOf(shown[0].Value)
		login, ok, err := g.cfg.Login(hash)
		if err != nil {
			return nil, "", rpc.Problemf(http.StatusServiceUnavailable, "logins.unknown", "logins cannot be checked now").
				WithCause(err).WithHint("ask again in a moment")
		}
		if ok {
			return &rpc.Caller{Actor: login.User, Role: rpc.Role(login.Role), Workflow: login.Workflow,
				Key: keyOf(login), LoginHash: hash, Login: login.ID}, g.formToken(shown[0].Value), nil
		}
	}
	return nil, "", nil
}

// FollowsLink reports whether a person has made the request by following a link to a page. A request that another page
// makes by a script, or for a frame, is none.
func FollowsLink(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document" && r.Header.Get("Origin") == ""
}

// keyOf names the caller of a login by its user: a user with many logins gets no larger share of anything.
func keyOf(l projections.Login) string {
	if l.Token != "" {
		return tokenKey(l.Token)
	}
	return "user " + l.User.Name
}

// MayEnd reports whether the caller may see and end the login: an admin each one, any other caller those of the same
// token or name that may do no more than the caller itself.
func MayEnd(c *rpc.Caller, l projections.Login) bool {
	if c.Role == rpc.Admin && c.Workflow == "" {
		return true
	}
	return keyOf(l) == c.Key && c.Role.Covers(rpc.Role(l.Role)) && (c.Workflow == "" || c.Workflow == l.Workflow)
}

// formToken is what a form must carry beside the cookie: only pages that can read this engine's pages know it.
func (g *Guard) formToken(secret string) string { return hashOf("form " + g.formKey + secret)[:32] }

// FormOf reports whether the form's token is the one that this browser was given.
func FormOf(given, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(given), []byte(want)) == 1
}
