package httpcall

import (
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/publicnet"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/eventlog"
)

// OAuthConfig says where the access tokens for a host come from (OAuth 2.0): by client credentials, or by a refresh
// token where there is one. Scripts never see any of it.
type OAuthConfig struct {
	// TokenURL is where tokens are asked for. It is called by Pawl alone: it need not be among the hosts.
	TokenURL     string   `yaml:"tokenUrl"`
	ClientID     string   `yaml:"clientId"`
	ClientSecret string   `yaml:"clientSecret"`
	Scopes       []string `yaml:"scopes"`
	// RefreshToken is used instead of the client's own credentials; empty for none.
	RefreshToken string `yaml:"refreshToken"`
	// Params are further parameters of a request by client credentials, such as audience.
	Params map[string]string `yaml:"params"`
}

// tokenMargin is how long before its end an access token is not used any more.
const tokenMargin = 30 * time.Second

// keptSecrets is how many of the tokens that were given for one host are blanked out of answers: an answer that comes
// late may repeat one that was replaced.
const keptSecrets = 16

// oauth gets the access tokens for one host, one at a time, and keeps the valid one.
type oauth struct {
	host   string // the configured key of the host
	at     *url.URL
	client *http.Client
	// learned is told the secrets of the newest answers, before any is used.
	learned func(o *oauth, secrets []string)

	byClient  *clientcredentials.Config
	byRefresh *oauth2.Config
	// kept keeps refresh tokens over restarts, nil for not at all; configured is the name of the configured one there,
	// and sealed seals them.
	kept       RefreshTokens
	configured string
	sealed     cipher.AEAD

	turn chan struct{} // has a value while a token is asked for

	mu      sync.Mutex
	valid   *oauth2.Token // nil for none
	refresh string        // the newest refresh token
	unkept  bool          // it took the place of another one, and is not kept yet
	given   []string      // the secrets of the newest answers
}

func newOAuth(host string, config OAuthConfig, private bool) (*oauth, error) {
	at, err := url.Parse(config.TokenURL)
	switch {
	case err != nil || at.Host == "" || at.User != nil || at.Scheme != "https" && at.Scheme != "http":
		return nil, wrong("oauth.tokenUrl", "oauth: tokenUrl: want the address where tokens are given, such as "+
			"https://login.example.com/oauth/token")
	case at.Scheme == "http" && !private:
		return nil, wrong("oauth.tokenUrl", "oauth: tokenUrl: the client's secret must not travel unencrypted: use https, "+
			"or set private: true for the host")
	case config.ClientID == "":
		return nil, wrong("oauth.clientId", "oauth: clientId is missing")
	case config.ClientSecret == "" && config.RefreshToken == "":
		return nil, wrong("oauth.clientSecret", "oauth: clientSecret is missing; a client without one needs a refreshToken")
	case config.RefreshToken != "" && len(config.Params) > 0:
		return nil, wrong("oauth.params", "oauth: params are for client credentials, not for a refreshToken")
	}
	for key, value := range map[string]string{"clientSecret": config.ClientSecret, "refreshToken": config.RefreshToken} {
		if value != "" && len(value) < redact.Shortest {
			return nil, wrong("oauth."+key, "oauth: %s: a value of fewer than %d bytes cannot be told from other text in "+
				"answers, so it must not be sent", key, redact.Shortest)
		}
	}
	o := &oauth{host: host, at: at, turn: make(chan struct{}, 1), refresh: config.RefreshToken}
	if config.RefreshToken != "" {
		o.configured = nameOfToken(config)
		if o.sealed, err = sealer(config.RefreshToken); err != nil {
			return nil, wrong("oauth.refreshToken", "oauth: make a key of the refresh token: %w", err)
		}
		o.byRefresh = &oauth2.Config{ClientID: config.ClientID, ClientSecret: config.ClientSecret, Scopes: config.Scopes,
			Endpoint: oauth2.Endpoint{TokenURL: config.TokenURL}}
		return o, nil
	}
	params := make(url.Values, len(config.Params))
	for name, value := range config.Params {
		params.Set(name, value)
	}
	o.byClient = &clientcredentials.Config{ClientID: config.ClientID, ClientSecret: config.ClientSecret,
		TokenURL: config.TokenURL, Scopes: config.Scopes, EndpointParams: params}
	return o, nil
}

// token is the text of the header Authorization. stale says that an earlier call has used it.
func (o *oauth) token(ctx context.Context, call connector.Call) (header string, stale bool, failure *eventlog.Failure) {
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return "", false, o.noToken(ctx, call, ctx.Err())
	}
	if t := o.current(); t != nil {
		return t.Type() + " " + t.AccessToken, true, o.keep()
	}
	t, err := o.fetch(ctx)
	if err != nil {
		return "", false, o.noToken(ctx, call, err)
	}
	header = t.Type() + " " + t.AccessToken
	if len(t.AccessToken) < redact.Shortest || !httpguts.ValidHeaderFieldValue(header) {
		return "", false, connector.Failf(eventlog.Auth, codeToken, "%s gave an access token for %s that cannot be used",
			o.where(), o.host)
	}
	o.learned(o, o.take(t))
	return header, false, o.keep()
}

// current is the token that is still valid, nil for none.
func (o *oauth) current() *oauth2.Token {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.valid != nil && !o.valid.Expiry.IsZero() && time.Until(o.valid.Expiry) <= tokenMargin {
		o.valid = nil
	}
	return o.valid
}

// take keeps a token, and returns the secrets of the newest answers.
func (o *oauth) take(t *oauth2.Token) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.valid = t
	o.given = append(o.given, t.AccessToken)
	if t.RefreshToken != "" && t.RefreshToken != o.refresh {
		o.refresh, o.given, o.unkept = t.RefreshToken, append(o.given, t.RefreshToken), true
	}
	o.given = slices.Clone(o.given[max(0, len(o.given)-keptSecrets):])
	return o.given
}

// fetch asks for an access token.
func (o *oauth) fetch(ctx context.Context) (*oauth2.Token, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, o.client)
	if o.byClient != nil {
		return o.byClient.Token(ctx)
	}
	o.mu.Lock()
	newest := &oauth2.Token{RefreshToken: o.refresh}
	o.mu.Unlock()
	return o.byRefresh.TokenSource(ctx, newest).Token()
}

// refused forgets a token that the host did not take.
func (o *oauth) refused(header string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.valid != nil && o.valid.Type()+" "+o.valid.AccessToken == header {
		o.valid = nil
	}
}

// where is the address of tokens for messages, without its query.
func (o *oauth) where() string {
	return o.at.Scheme + "://" + o.at.Host + o.at.EscapedPath()
}

// noToken says why there is no token. The call was not sent. What the other side says is not repeated, since it may
// hold what was sent; only a code that the standard defines is.
func (o *oauth) noToken(ctx context.Context, call connector.Call, err error) *eventlog.Failure {
	if ended := connector.ContextFailure(ctx, call); ended != nil {
		ended.Message += fmt.Sprintf(": no access token for %s from %s", o.host, o.where())
		return ended
	}
	var private *publicnet.RefusedError
	if errors.As(err, &private) {
		return connector.Failf(eventlog.Permission, connector.CodeHostPrivate, "no access token for %s: %v", o.host, private)
	}
	var refusal *oauth2.RetrieveError
	if !errors.As(err, &refusal) || refusal.Response == nil {
		var unreachable *url.Error
		if errors.As(err, &unreachable) {
			return connector.Failf(eventlog.Transient, codeToken, "no access token for %s: %s did not answer: %v", o.host,
				o.where(), cause(unreachable.Err))
		}
		return connector.Failf(eventlog.Transient, codeToken, "no access token for %s: %s answered, but the answer has no "+
			"access token", o.host, o.where())
	}
	status, said := refusal.Response.StatusCode, ""
	if standardCodes[refusal.ErrorCode] {
		said = " (" + refusal.ErrorCode + ")"
	}
	if status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500 {
		return connector.Failf(eventlog.Transient, codeToken, "no access token for %s: %s answered %d%s", o.host, o.where(),
			status, said)
	}
	return connector.Failf(eventlog.Auth, codeToken, "no access token for %s: %s answered %d%s: correct "+
		"connectors.http.hosts.%s.oauth in the engine's configuration and start the engine again", o.host, o.where(), status,
		said, o.host)
}

// standardCodes are the codes of refusals that RFC 6749 defines (section 5.2).
var standardCodes = map[string]bool{"invalid_request": true, "invalid_client": true, "invalid_grant": true,
	"unauthorized_client": true, "unsupported_grant_type": true, "invalid_scope": true}

// authorized is the access token that a request was given; the zero value is none.
type authorized struct {
	by     *oauth
	header string
	stale  bool
}

// authorize gives the request an access token; nil gives none.
func (o *oauth) authorize(ctx context.Context, call connector.Call, request *http.Request) (authorized,
	*eventlog.Failure) {
	if o == nil {
		return authorized{}, nil
	}
	header, stale, failure := o.token(ctx, call)
	if failure != nil {
		return authorized{}, failure
	}
	request.Header["Authorization"] = []string{header}
	return authorized{o, header, stale}, nil
}

// judge forgets the token if the host answered 401 to it.
func (a authorized) judge(answer answer) answer {
	if a.by != nil && answer.status == http.StatusUnauthorized {
		a.by.refused(a.header)
		answer.stale = a.stale
	}
	return answer
}
