package httpcall

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/eventlog"
)

// RefreshTokens keeps refresh tokens that took the place of configured ones: many services take each token once, and
// some revoke all of them when an old one is used again. They are sealed: they can be read only with the configured
// one.
type RefreshTokens interface {
	// Load returns the newest of those that took the place of a configured one, which goes by this name; empty for none.
	Load(configured string) (sealed string, err error)
	// Save returns once it is kept, also over the loss of power.
	Save(configured, sealed string) error
}

// nameOfToken is the name of a configured refresh token, under which the newest token in its place is kept. Another
// token, client or address has another name.
func nameOfToken(config OAuthConfig) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{config.TokenURL, config.ClientID, config.RefreshToken}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// shareRefreshTokens gives hosts with the same refresh token and scopes one source of access tokens. With one each,
// the use of the refresh token by one would make it useless to the other.
func shareRefreshTokens(all hosts) {
	sources := make(map[string]*oauth)
	for _, address := range slices.Sorted(maps.Keys(all)) {
		h := all[address]
		if h.oauth == nil || h.oauth.byRefresh == nil {
			continue
		}
		name := h.oauth.configured + " " + strings.Join(h.oauth.byRefresh.Scopes, " ")
		if sources[name] == nil {
			sources[name] = h.oauth
		}
		h.oauth = sources[name]
	}
}

// sealer seals what took the place of a configured refresh token, with a key that is made of the configured one.
func sealer(configured string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(configured), nil, "pawl: what took the place of a refresh token", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal writes a refresh token as it is kept.
func (o *oauth) seal(token string) string {
	return base64.StdEncoding.EncodeToString(o.sealed.Seal(nil, nil, []byte(token), []byte(o.configured)))
}

// unseal reads what seal writes.
func (o *oauth) unseal(text string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", err
	}
	token, err := o.sealed.Open(nil, nil, raw, []byte(o.configured))
	return string(token), err
}

// resume goes on with the token that an earlier process was given in the place of the configured one.
func (o *oauth) resume(kept RefreshTokens) error {
	if o.byRefresh == nil || kept == nil {
		return nil
	}
	o.kept = kept
	text, err := kept.Load(o.configured)
	token := ""
	if err == nil && text != "" {
		if token, err = o.unseal(text); err != nil {
			err = errors.New("it is damaged: delete it from the folder oauth of the data directory, and configure a new one")
		}
	}
	if err != nil {
		return wrong("oauth.refreshToken", "oauth: read the refresh token that took the place of the configured one: %w", err)
	}
	if len(token) >= redact.Shortest { // a shorter one could not be blanked out
		o.refresh, o.given = token, []string{token}
		o.learned(o, o.given)
	}
	return nil
}

// keep keeps a refresh token that took the place of another one, before the access token that came with it is used:
// without the refresh token, the next process could only be refused.
func (o *oauth) keep() *eventlog.Failure {
	o.mu.Lock()
	token, unkept := o.refresh, o.unkept
	o.mu.Unlock()
	if !unkept || o.kept == nil {
		return nil
	}
	if err := o.kept.Save(o.configured, o.seal(token)); err != nil {
		return connector.Failf(eventlog.Transient, codeToken, "no access token for %s: the refresh token that %s gave in "+
			"the place of the last one cannot be kept, and after a restart there would be none: %v", o.host, o.where(), err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unkept = o.refresh != token
	return nil
}
