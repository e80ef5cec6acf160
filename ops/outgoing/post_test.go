package outgoing

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector/publicnet"
	"github.com/pawl-run/pawl/engine/connector/tunnel/tunneltest"
	"github.com/pawl-run/pawl/engine/hook"
	"github.com/pawl-run/pawl/engine/secret"
	"github.com/pawl-run/pawl/eventlog"
)

// The secret of the specification's example, and another one.
const (
	published = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	older     = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
)

func secretOf(t *testing.T, values ...string) secret.Secret {
	t.Helper()
	s, err := secret.Of(values, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func target(t *testing.T, c Config) *Target {
	t.Helper()
	to, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(to.Close)
	return to
}

// The example of the specification and of its libraries: github.com/standard-webhooks/standard-webhooks.
func TestSignsAsPublished(t *testing.T) {
	t.Parallel()
	to := target(t, Config{URL: "https://example.com/", Secret: secretOf(t, published)})
	got, err := to.signatures("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
		"webhook-timestamp": "1614265330", "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="} {
		if got.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Get(name), want)
		}
	}
}

// What is posted is accepted by the verification of incoming hooks, with each value of the secret alone, and carries
// what was given.
func TestPostIsVerified(t *testing.T) {
	t.Parallel()
	m := Message{ID: "01ABC-1", ContentType: "application/json", Body: []byte(`{"type":"pawl.run.committed.v1"}`)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != string(m.Body) || r.Header.Get("Content-Type") != m.ContentType ||
			r.Method != http.MethodPost || r.URL.Path != "/in" {
			t.Errorf("%s %s: %v, %q, %v", r.Method, r.URL, err, body, r.Header)
		}
		for _, key := range []string{published, older} {
			if err := hook.Verify(eventlog.HookVerify{Scheme: "standard"}, []string{key},
				&hook.Request{Method: r.Method, Header: r.Header, Body: body}, time.Now()); err != nil {
				t.Errorf("refused: %v", err)
			}
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(server.Close)
	to := target(t, Config{URL: server.URL + "/in", Secret: secretOf(t, older, published), Private: true})
	if result := to.Post(t.Context(), m); result != (Result{}) {
		t.Errorf("%+v", result)
	}
}

// Each answer that is not 2xx is a failure, with what the operator needs to know and nothing that is secret.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const path = "/T0/planted-in-the-path?key=planted"
	followed := false
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
		gone   bool
		after  time.Duration
	}{
		"an error": {answer: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprintf(w, "no\n  luck at %s with %s %s", r.URL, published, strings.Repeat("x", 1<<20))
		}, want: "answered 500: no luck at"},
		"a secret where the answer is cut": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, strings.Repeat("y", 280)+published)
		}, want: "answered 400: yyy"},
		"no HTTP": {answer: func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, err = io.WriteString(conn, strings.Repeat("y", 3000)+"\r\n\r\n")
			}
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.Close()
		}, want: "malformed HTTP response"},
		"gone": {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) },
			want: "answered 410", gone: true},
		"busy": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(http.StatusTooManyRequests)
		}, want: "answered 429", after: 90 * time.Second},
		"busy for too long": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", time.Now().Add(24*time.Hour).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusServiceUnavailable)
		}, want: "answered 503", after: eventlog.MaxRetryAfter},
		"a redirect": {answer: func(w http.ResponseWriter, r *http.Request) {
			followed = followed || r.URL.Path == "/elsewhere"
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, want: "answered 307; redirects are not followed"},
		"no answer": {answer: func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, want: "it did not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.answer)
			t.Cleanup(server.Close)
			to := target(t, Config{URL: server.URL + path, Secret: secretOf(t, published), Private: true,
				Timeout: 300 * time.Millisecond})
			got := to.Post(t.Context(), Message{ID: "1", ContentType: "text/plain"})
			if got.Err == nil || !strings.Contains(got.Err.Error(), c.want) || got.Gone != c.gone || got.RetryAfter != c.after ||
				strings.Contains(got.Err.Error(), "planted") || strings.Contains(got.Err.Error(), published[:12]) ||
				len(got.Err.Error()) > 600 {
				t.Errorf("%+v, want %q", got, c.want)
			}
		})
	}
	if followed {
		t.Error("a redirect was followed")
	}
}

// An address within a private network is refused when it is dialled, whatever its name.
func TestPrivateAddressIsRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a request has left")
	}))
	t.Cleanup(server.Close)
	to := target(t, Config{URL: server.URL})
	result := to.post(t.Context(), Message{ID: "1"})
	var refused *publicnet.RefusedError
	if !errors.As(result.Err, &refused) || !strings.Contains(result.Err.Error(), "private: true") {
		t.Errorf("%v", result.Err)
	}
}

// Messages go through the proxy that is configured, which is asked to connect and sees nothing else, and no error shows
// its password.
func TestPostThroughAProxy(t *testing.T) {
	t.Parallel()
	const user = "http://pawl:planted-password@"
	for _, scheme := range []string{"http", "https"} {
		start := httptest.NewServer
		if scheme == "https" {
			start = httptest.NewTLSServer // its certificate is one for example.com
		}
		server := start(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/in" || r.Header["Proxy-Authorization"] != nil {
				t.Errorf("%s %v", r.URL, r.Header)
			}
		}))
		t.Cleanup(server.Close)
		port := map[string]string{"http": ":80", "https": ":443"}[scheme]
		proxy := tunneltest.New(t, map[string]string{"example.com" + port: server.Listener.Addr().String()})
		to := target(t, Config{URL: scheme + "://example.com/in", Private: scheme == "http", Proxy: user + proxy.Address})
		if scheme == "https" {
			to.client.Transport.(*http.Transport).TLSClientConfig =
				server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		}
		for range 2 { // over one connection
			if result := to.Post(t.Context(), Message{ID: "1", ContentType: "text/plain"}); result.Err != nil {
				t.Error(result.Err)
			}
		}
		asked := proxy.Asked()
		if len(asked) != 1 || asked[0].Method != http.MethodConnect {
			t.Fatalf("%s: the proxy was asked %d times: %v", scheme, len(asked), asked)
		}
		if name, password := tunneltest.Auth(asked[0]); name != "pawl" || password != "planted-password" {
			t.Errorf("the proxy was asked by %q with %q", name, password)
		}
	}
	refusing := tunneltest.Refusing(t, http.StatusProxyAuthRequired)
	to := target(t, Config{URL: "https://example.com/in", Proxy: user + refusing.Address})
	result := to.Post(t.Context(), Message{ID: "1"})
	if result.Err == nil || !strings.Contains(result.Err.Error(), "it answered 407") ||
		strings.Contains(result.Err.Error(), "planted") {
		t.Errorf("%v", result.Err)
	}
	before := len(refusing.Asked())
	to = target(t, Config{URL: "https://10.1.2.3/in", Proxy: user + refusing.Address})
	var private *publicnet.RefusedError
	if result := to.post(t.Context(), Message{ID: "1"}); !errors.As(result.Err, &private) ||
		len(refusing.Asked()) != before {
		t.Errorf("the proxy was asked for a private address: %v", result.Err)
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{URL: "example.com"}, "url is not"}, {Config{URL: "ftp://example.com"}, "url is not"},
		{Config{URL: "https://planted:b@example.com"}, "url must not hold"},
		{Config{URL: "http://example.com"}, "url must begin with https"}, {Config{URL: "https://%planted"}, "url is not"},
		{Config{URL: "https://a.b", Timeout: time.Hour}, "timeout is"},
		{Config{URL: "https://a.b", Timeout: -1}, "timeout is"},
		{Config{URL: "https://a.b", Proxy: "socks5://u:planted@a.b"}, "proxy is no proxy: want http://"},
		{Config{URL: "https://a.b", Secret: secretOf(t, "not base64 planted")}, "secret has a value"},
	} {
		if _, err := New(c.config); err == nil || !strings.HasPrefix(err.Error(), c.want) ||
			strings.Contains(err.Error(), "planted") {
			t.Errorf("%s: %v, want %q", c.config.URL, err, c.want)
		}
	}
}
