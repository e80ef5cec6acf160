package outgoing

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/connector/publicnet"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/engine/connector/tunnel"
	"github.com/pawl-run/pawl/engine/secret"
)

// DefaultTimeout bounds one attempt by default; maxTimeout is the largest bound that may be configured.
const (
	DefaultTimeout = 15 * time.Second
	maxTimeout     = 5 * time.Minute
)

// maxConnections bounds the connections to one target.
const maxConnections = 16

// Config of a Target. URL is required.
type Config struct {
	// URL is the address that messages are posted to: https, or http for a private target.
	URL string
	// Secret signs messages: each of its values is "whsec_" and base64, or base64 alone. The zero Secret signs nothing.
	Secret secret.Secret
	// Private allows addresses that are not public, and http.
	Private bool
	// Timeout bounds one attempt; 0 means DefaultTimeout.
	Timeout time.Duration
	// Proxy is the address of a proxy, as in "http://proxy.example.com:3128", with user and password where it asks for
	// them; empty for none.
	Proxy string
	// Hidden are values that no error may show: those that were filled into the URL.
	Hidden []string
}

// Target is an address that messages are posted to. Its methods are safe for concurrent use.
type Target struct {
	url     *url.URL
	keys    []string
	timeout time.Duration
	client  *http.Client
	hide    *redact.Redactor
}

// New checks the configuration. Its errors name the setting (url, secret, timeout or proxy) and show no value of it.
func New(c Config) (*Target, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil, u.Opaque != "", u.Hostname() == "", u.Scheme != "https" && u.Scheme != "http":
		return nil, &SettingError{"url", "is not a complete http or https address"}
	case u.User != nil:
		return nil, &SettingError{"url", "must not hold a user or password"}
	case u.Scheme == "http" && !c.Private:
		return nil, &SettingError{"url", "must begin with https, unless private: true says that it leads into your own " +
			"network"}
	case c.Timeout < 0 || c.Timeout > maxTimeout:
		return nil, &SettingError{"timeout", fmt.Sprintf("is %s; it must be from 1ms to %s", c.Timeout, maxTimeout)}
	}
	u.Fragment, u.RawFragment = "", ""
	t := &Target{url: u, keys: c.Secret.Values(), timeout: c.Timeout}
	if t.timeout == 0 {
		t.timeout = DefaultTimeout
	}
	hidden := slices.Concat(c.Hidden, t.keys, hiddenIn(u))
	dial := dialer(u.Host, c.Private)
	if c.Proxy != "" {
		proxy, err := tunnel.New(c.Proxy)
		if err != nil {
			return nil, &SettingError{"proxy", "is no proxy: " + err.Error()}
		}
		hidden = append(hidden, proxy.Password())
		dial = func(ctx context.Context, _, address string) (net.Conn, error) {
			return proxy.Dial(ctx, u.Host, address, c.Private)
		}
	}
	for _, key := range t.keys {
		hidden = append(hidden, strings.TrimPrefix(key, "whsec_"))
	}
	t.hide = redact.New(hidden)
	if _, err := t.signatures("id", time.Unix(0, 0), []byte("{}")); err != nil {
		return nil, &SettingError{"secret", "has a value that is no key of Standard Webhooks: write whsec_ and 24 to 64 " +
			"random bytes in base64"}
	}
	t.client = &http.Client{
		Transport: &http.Transport{ // it uses no proxy of the environment
			DialContext: dial, ForceAttemptHTTP2: true, MaxConnsPerHost: maxConnections,
			MaxIdleConnsPerHost: maxConnections, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
			DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return t, nil
}

// dialer opens connections to the host.
func dialer(host string, private bool) func(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{KeepAlive: 30 * time.Second}
	if !private {
		d.Control = publicnet.Control(host)
	}
	return d.DialContext
}

// longSegment is the length from which on a part of a path may be a token.
const longSegment = 12

// hiddenIn are the parts of an address that no text may show: chat tools have tokens in the path, others in the query.
func hiddenIn(u *url.URL) []string {
	var hidden []string
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		hidden = append(hidden, u.String(), u.RequestURI(), u.RawQuery)
	}
	for _, path := range []string{u.Path, u.EscapedPath()} {
		hidden = append(hidden, path)
		for segment := range strings.SplitSeq(path, "/") {
			if len(segment) >= longSegment {
				hidden = append(hidden, segment)
			}
		}
	}
	for _, values := range u.Query() {
		hidden = append(hidden, values...)
	}
	return hidden
}

// SettingError says which setting of a target is wrong.
type SettingError struct {
	// Key is the setting: url, secret, timeout or proxy.
	Key     string
	Problem string
}

// Error names the setting and what is wrong with it.
func (e *SettingError) Error() string { return e.Key + " " + e.Problem }

// Host is the address without its path, which may be a secret.
func (t *Target) Host() string { return t.url.Scheme + "://" + t.url.Host }

// Close ends idle connections.
func (t *Target) Close() { t.client.CloseIdleConnections() }

// cause is an error of net/http without the address in it.
func cause(err error) error {
	var located *url.Error
	if errors.As(err, &located) {
		err = located.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("it did not answer in time")
	}
	return err
}
