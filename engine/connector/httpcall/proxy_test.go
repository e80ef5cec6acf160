package httpcall_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/connector/tunnel/tunneltest"
	"github.com/pawl-run/pawl/eventlog"
)

// Through a proxy one call is one request as well, over https and http, whatever becomes of it; the proxy resolves the
// name, and the host sees nothing of it.
func TestCallsThroughAProxy(t *testing.T) {
	t.Parallel()
	requests := make(chan *http.Request, 10)
	drop := false
	handle := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r
		if drop {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "{}")
	})
	secure := httptest.NewTLSServer(handle) // its certificate is one for example.com
	t.Cleanup(secure.Close)
	_, plain := server(t, handle)
	p := tunneltest.New(t, map[string]string{"example.com:443": strings.TrimPrefix(secure.URL, "https://"),
		"example.com:80": plain})
	r := client(t, "example.com", func(c *httpcall.Config, h *httpcall.HostConfig) {
		c.RootCAs = secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		h.Private, h.Proxy = false, "http://pawl:pass-of-proxy@"+p.Address
	})
	for n, scheme := range []string{"https", "http"} {
		drop = false
		call := mutation("post", object{"url": scheme + "://example.com/orders", "body": 1})
		wantOutcome(t, r.Perform(t.Context(), call), connector.Applied, "", "")
		got := <-requests
		if got.Host != "example.com" || got.RequestURI != "/orders" || got.Header["Proxy-Authorization"] != nil {
			t.Errorf("%s: %s %s %v", scheme, got.Host, got.RequestURI, got.Header)
		}
		asked := p.Asked()
		if user, password := tunneltest.Auth(asked[n]); len(asked) != n+1 || user != "pawl" || password != "pass-of-proxy" {
			t.Errorf("%s: the proxy was asked %d times, by %q", scheme, len(asked), user)
		}
		drop = true // the connection is kept alive, and breaks
		wantOutcome(t, r.Perform(t.Context(), call), connector.Uncertain, eventlog.Transient, "")
		<-requests
		if len(p.Asked()) != n+1 || len(requests) != 0 {
			t.Errorf("%s: sent again: %d requests, %d connections", scheme, len(requests), len(p.Asked()))
		}
	}
}

// What the proxy refuses was not sent, and nothing that is said of it holds the proxy's password.
func TestAProxyThatRefuses(t *testing.T) {
	t.Parallel()
	p := tunneltest.Refusing(t, http.StatusProxyAuthRequired)
	proxied := func(_ *httpcall.Config, h *httpcall.HostConfig) {
		h.Private, h.Proxy = false, "http://pawl:pass-of-proxy@"+p.Address
	}
	r := client(t, "example.com", proxied)
	out := r.Perform(t.Context(), mutation("post", object{"url": "https://example.com/"}))
	wantOutcome(t, out, connector.Failed, eventlog.Transient, "http.connect")
	if !strings.Contains(out.Failure.Message, "proxy "+p.Address+": it answered 407") ||
		strings.Contains(out.Failure.Message, "pass-of") {
		t.Errorf("%s", out.Failure.Message)
	}
	// An address that is written in the configuration can be checked, and is not asked for.
	before := len(p.Asked())
	inner := client(t, "10.1.2.3", proxied)
	out = inner.Perform(t.Context(), mutation("post", object{"url": "http://10.1.2.3/"}))
	wantOutcome(t, out, connector.Failed, eventlog.Permission, connector.CodeHostPrivate)
	if len(p.Asked()) != before {
		t.Error("the proxy was asked for a private address")
	}
	// A host that is not configured is not asked for either.
	out = r.Perform(t.Context(), mutation("post", object{"url": "https://other.example/"}))
	wantOutcome(t, out, connector.Failed, eventlog.Permission, connector.CodeHost)
	if len(p.Asked()) != before {
		t.Error("the proxy was asked for a host that is not configured")
	}
}

// The proxy that the environment names is not used, since no setting allows that requests to a host, with the secrets
// that are configured for it, go there.
func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	p := tunneltest.New(t, nil)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://"+p.Address)
	}
	for _, name := range []string{"NO_PROXY", "no_proxy", "REQUEST_METHOD"} {
		t.Setenv(name, "")
	}
	request := httptest.NewRequest(http.MethodGet, "https://nowhere.invalid/", nil)
	if proxy, err := http.ProxyFromEnvironment(request); err != nil || proxy == nil || proxy.Host != p.Address {
		t.Fatalf("net/http would use %v (%v): this test says nothing", proxy, err)
	}
	for _, scheme := range []string{"http", "https"} {
		r := client(t, "nowhere.invalid", func(_ *httpcall.Config, h *httpcall.HostConfig) {
			h.OAuth = &httpcall.OAuthConfig{TokenURL: scheme + "://tokens.invalid/", ClientID: "c", ClientSecret: "a-secret"}
		})
		bare := client(t, "nowhere.invalid", nil)
		for _, r := range []*connector.Registry{r, bare} {
			call := mutation("post", object{"url": scheme + "://nowhere.invalid/", "body": 1})
			if out := r.Perform(t.Context(), call); out.Status != connector.Failed {
				t.Errorf("%+v", out)
			}
			if _, err := r.Read(t.Context(), mutation("get", object{"url": scheme + "://nowhere.invalid/"})); err == nil {
				t.Error("a host that does not exist was read")
			}
		}
	}
	if len(p.Asked()) != 0 {
		t.Errorf("the proxy of the environment was asked %d times", len(p.Asked()))
	}
}

// A proxy that means nothing is refused at the start, without its password.
func TestProxiesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, proxy := range []string{"proxy.example:3128", "https://proxy.example", "socks5://proxy.example", "http://",
		"http://u:pass-of-proxy@proxy.example/path", "http://u:pass-of-proxy@proxy.example/?x", "http://a b"} {
		_, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{"a.example": {Proxy: proxy}}})
		var setting *connector.SettingError
		if !errors.As(err, &setting) || setting.Key != "connectors.http.hosts.a.example.proxy" ||
			strings.Contains(err.Error(), "pass-of") {
			t.Errorf("%s: %v", proxy, err)
		}
	}
}
