package httpcall_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/eventlog"
)

// tokens is a server that gives access tokens, each with its number.
type tokens struct {
	mu     sync.Mutex
	asked  []url.Values
	basic  []string // user:password of each request
	answer func(w http.ResponseWriter, n int)
}

func (s *tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = r.ParseForm()
	user, password, _ := r.BasicAuth()
	s.asked, s.basic = append(s.asked, r.PostForm), append(s.basic, user+":"+password)
	w.Header().Set("Content-Type", "application/json")
	s.answer(w, len(s.asked))
}

// gives answers with access tokens that hold for so many seconds.
func gives(seconds int) func(http.ResponseWriter, int) {
	return func(w http.ResponseWriter, n int) {
		fmt.Fprintf(w, `{"access_token": "access-%d", "token_type": "bearer", "expires_in": %d}`, n, seconds)
	}
}

// authorizing is a client of a host that wants tokens, and repeats what it gets.
func authorizing(t *testing.T, s *tokens, status func(authorization string) int,
	change func(*httpcall.OAuthConfig)) (r *connector.Registry, host string, got *[]string) {
	t.Helper()
	_, at := server(t, s.ServeHTTP)
	got = new([]string)
	_, host = server(t, func(w http.ResponseWriter, r *http.Request) {
		*got = append(*got, r.Header.Get("Authorization"))
		if status != nil {
			w.WriteHeader(status(r.Header.Get("Authorization")))
		}
		_ = json.NewEncoder(w).Encode(r.Header)
	})
	return client(t, host, func(_ *httpcall.Config, h *httpcall.HostConfig) {
		h.OAuth = &httpcall.OAuthConfig{TokenURL: "http://" + at + "/token", ClientID: "pawl", ClientSecret: "s3cret one"}
		if change != nil {
			change(h.OAuth)
		}
	}), host, got
}

// A token is asked for before the first call and used by all, as long as it holds; nothing that comes back shows it.
func TestATokenIsGotByClientCredentials(t *testing.T) {
	t.Parallel()
	s := &tokens{answer: gives(3600)}
	r, host, got := authorizing(t, s, nil, func(c *httpcall.OAuthConfig) {
		c.Scopes, c.Params = []string{"a", "b"}, map[string]string{"audience": "orders"}
	})
	call := mutation("post", object{"url": "http://" + host + "/"})
	for range 2 {
		out := r.Perform(t.Context(), call)
		wantOutcome(t, out, connector.Applied, "", "")
		raw, err := r.Read(t.Context(), mutation("get", object{"url": "http://" + host + "/"}))
		if err != nil {
			t.Fatal(err)
		}
		if text := string(out.Result) + string(raw); strings.Contains(text, "access-1") || strings.Count(text, "***") != 2 {
			t.Errorf("%s", text)
		}
	}
	if want := "Bearer access-1"; strings.Join(*got, ",") != strings.Repeat(","+want, 4)[1:] {
		t.Errorf("the host got %q", *got)
	}
	if len(s.asked) != 1 || s.asked[0].Get("grant_type") != "client_credentials" || s.asked[0].Get("scope") != "a b" ||
		s.asked[0].Get("audience") != "orders" || s.basic[0] != "pawl:s3cret+one" {
		t.Errorf("%v %v", s.asked, s.basic)
	}
}

// A token that is about to end is not used again, and a refresh token that is replaced is used in its new form.
func TestATokenIsGotByARefreshToken(t *testing.T) {
	t.Parallel()
	s := &tokens{answer: func(w http.ResponseWriter, n int) {
		fmt.Fprintf(w, `{"access_token": "access-%d", "token_type": "Bearer", "expires_in": 20, "refresh_token": "again-%d"}`,
			n, n)
	}}
	r, host, got := authorizing(t, s, nil, func(c *httpcall.OAuthConfig) {
		c.ClientSecret, c.RefreshToken = "", "again-0"
	})
	for n := range 3 {
		out := r.Perform(t.Context(), mutation("post", object{"url": "http://" + host + "/",
			"headers": object{"X-Echo": fmt.Sprintf("again-%d again-%d", n, n+1)}}))
		wantOutcome(t, out, connector.Applied, "", "")
		if strings.Contains(string(out.Result), "again-") || strings.Contains(string(out.Result), "access-") {
			t.Errorf("%s", out.Result)
		}
		if (*got)[n] != fmt.Sprintf("Bearer access-%d", n+1) {
			t.Errorf("the host got %q", *got)
		}
		if form := s.asked[n]; form.Get("grant_type") != "refresh_token" ||
			form.Get("refresh_token") != fmt.Sprintf("again-%d", n) {
			t.Errorf("%v", form)
		}
	}
}

// A host that refuses a token which it has taken before is called with a new one next time: that is no fault of the
// credentials. A new one that is refused is. No call is sent again by itself.
func TestATokenThatIsRefused(t *testing.T) {
	t.Parallel()
	s := &tokens{answer: gives(3600)}
	revoked := ""
	r, host, got := authorizing(t, s, func(authorization string) int {
		if revoked == "all" || authorization == revoked {
			return http.StatusUnauthorized
		}
		return http.StatusOK
	}, nil)
	call := mutation("post", object{"url": "http://" + host + "/"})
	wantOutcome(t, r.Perform(t.Context(), call), connector.Applied, "", "")
	revoked = "Bearer access-1"
	wantOutcome(t, r.Perform(t.Context(), call), connector.Failed, eventlog.Transient, "http.token")
	wantOutcome(t, r.Perform(t.Context(), call), connector.Applied, "", "")
	revoked = "all"
	_, err := r.Read(t.Context(), mutation("get", object{"url": "http://" + host + "/"}))
	if f := failureOf(t, err); f.Class != eventlog.Transient || f.Code != "http.token" ||
		strings.Contains(f.Message, "access-") {
		t.Errorf("%+v", f)
	}
	out := r.Perform(t.Context(), call)
	wantOutcome(t, out, connector.Failed, eventlog.Auth, "http.status")
	if strings.Contains(out.Failure.Message, "access-") || len(*got) != 5 || len(s.asked) != 3 {
		t.Errorf("%s; %d requests, %d tokens", out.Failure.Message, len(*got), len(s.asked))
	}
}

// Without a token nothing is sent. Whether it may come by itself is known, and what the other side says is not
// repeated.
func TestATokenThatIsNotGiven(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, int)
		class  eventlog.Class
		says   string
	}{
		"refused": {func(w http.ResponseWriter, _ int) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error": "invalid_client", "error_description": "s3cret one is wrong"}`)
		}, eventlog.Auth, "answered 401 (invalid_client)"},
		"refused in words of its own": {func(w http.ResponseWriter, _ int) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error": "s3cret one"}`)
		}, eventlog.Auth, "answered 400: correct"},
		"moved": {func(w http.ResponseWriter, _ int) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, eventlog.Auth, "answered 307"},
		"busy":    {func(w http.ResponseWriter, _ int) { w.WriteHeader(503) }, eventlog.Transient, "answered 503"},
		"limited": {func(w http.ResponseWriter, _ int) { w.WriteHeader(429) }, eventlog.Transient, "answered 429"},
		"nonsense": {func(w http.ResponseWriter, _ int) { fmt.Fprint(w, `{"s3cret one"`) }, eventlog.Transient,
			"has no access token"},
		"no token": {func(w http.ResponseWriter, _ int) { fmt.Fprint(w, `{}`) }, eventlog.Transient, "has no access token"},
		"cut off":  {func(http.ResponseWriter, int) { panic(http.ErrAbortHandler) }, eventlog.Transient, "did not answer"},
		"no header": {func(w http.ResponseWriter, _ int) {
			fmt.Fprint(w, `{"access_token": "acc\ness", "token_type": "bearer"}`)
		}, eventlog.Auth, "cannot be used"},
		"too short": {func(w http.ResponseWriter, _ int) { fmt.Fprint(w, `{"access_token": "abc"}`) }, eventlog.Auth,
			"cannot be used"},
	} {
		s := &tokens{answer: c.answer}
		r, host, got := authorizing(t, s, nil, nil)
		out := r.Perform(t.Context(), mutation("post", object{"url": "http://" + host + "/?confidential=1"}))
		_, err := r.Read(t.Context(), mutation("get", object{"url": "http://" + host + "/"}))
		if read := failureOf(t, err); out.Status != connector.Failed || out.Failure.Class != c.class ||
			out.Failure.Code != "http.token" || read.Class != c.class {
			t.Errorf("%s: %v %+v, the read %+v", name, out.Status, out.Failure, read)
			continue
		}
		if text := out.Failure.Message; !strings.Contains(text, c.says) || strings.Contains(text, "s3cret") ||
			strings.Contains(text, "confidential") {
			t.Errorf("%s: %s", name, text)
		}
		if len(*got) != 0 {
			t.Errorf("%s: the host got %q", name, *got)
		}
	}
}

// A token is not asked for at an address that is not public, unless the host is configured as private.
func TestATokenFromAPrivateAddress(t *testing.T) {
	t.Parallel()
	r := client(t, "", func(c *httpcall.Config, _ *httpcall.HostConfig) {
		c.Hosts = map[string]httpcall.HostConfig{"api.example.com": {OAuth: &httpcall.OAuthConfig{
			TokenURL: "https://127.0.0.1:1/token", ClientID: "pawl", ClientSecret: "s3cret"}}}
	})
	out := r.Perform(t.Context(), mutation("post", object{"url": "https://api.example.com/"}))
	wantOutcome(t, out, connector.Failed, eventlog.Permission, connector.CodeHostPrivate)
}

// A call whose time is over while a token is asked for was not sent; others wait for the same token.
func TestATokenThatTakesTooLong(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	s := &tokens{answer: func(w http.ResponseWriter, n int) {
		asked <- struct{}{}
		<-answer
		gives(3600)(w, n)
	}}
	r, host, got := authorizing(t, s, nil, nil)
	call := mutation("post", object{"url": "http://" + host + "/"})
	first := make(chan connector.Outcome, 1)
	go func() { first <- r.Perform(t.Context(), call) }()
	<-asked
	wantOutcome(t, soon(t, r, call), connector.Failed, eventlog.Transient, connector.CodeTimeout)
	ctx, giveUp := context.WithCancel(t.Context())
	giveUp()
	wantOutcome(t, r.Perform(ctx, call), connector.Failed, eventlog.Transient, connector.CodeCancelled)
	close(answer)
	wantOutcome(t, <-first, connector.Applied, "", "")
	if len(*got) != 1 || len(s.asked) != 1 {
		t.Errorf("the host got %q, %d tokens were asked for", *got, len(s.asked))
	}
}

// Neither a script nor another host gets hold of the token of a host.
func TestATokenIsForItsHostAlone(t *testing.T) {
	t.Parallel()
	s := &tokens{answer: gives(3600)}
	_, at := server(t, s.ServeHTTP)
	var strange []string
	_, other := server(t, func(_ http.ResponseWriter, r *http.Request) {
		strange = append(strange, r.Header.Get("Authorization"))
	})
	_, host := server(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+other+"/", http.StatusFound)
	})
	r := client(t, host, func(c *httpcall.Config, h *httpcall.HostConfig) {
		plain := *h
		h.OAuth = &httpcall.OAuthConfig{TokenURL: "http://" + at, ClientID: "pawl", ClientSecret: "s3cret"}
		c.Hosts = map[string]httpcall.HostConfig{host: *h, other: plain}
	})
	if _, err := r.Read(t.Context(), mutation("get", object{"url": "http://" + host + "/"})); err != nil {
		t.Fatal(err)
	}
	if len(strange) != 1 || strange[0] != "" {
		t.Errorf("the other host got %q", strange)
	}
	for _, operation := range []string{"get", "post"} {
		call := mutation(operation, object{"url": "http://" + host + "/", "headers": object{"authorization": "mine"}})
		out, err := r.Perform(t.Context(), call), error(nil)
		if operation == "get" {
			_, err = r.Read(t.Context(), call)
			out.Failure = failureOf(t, err)
		}
		if out.Failure.Code != "http.header" {
			t.Errorf("%s: %+v", operation, out.Failure)
		}
	}
}

// What cannot give a token, or would show the secret, is refused at the start.
func TestOAuthThatIsRefused(t *testing.T) {
	t.Parallel()
	fine := httpcall.OAuthConfig{TokenURL: "https://login.example.com/token", ClientID: "pawl", ClientSecret: "s3cret"}
	for key, change := range map[string]func(*httpcall.OAuthConfig, *httpcall.HostConfig){
		"oauth.tokenUrl": func(o *httpcall.OAuthConfig, _ *httpcall.HostConfig) {
			o.TokenURL = "http://login.example.com"
		},
		"oauth.clientId":     func(o *httpcall.OAuthConfig, _ *httpcall.HostConfig) { o.ClientID = "" },
		"oauth.clientSecret": func(o *httpcall.OAuthConfig, _ *httpcall.HostConfig) { o.ClientSecret = "" },
		"oauth.refreshToken": func(o *httpcall.OAuthConfig, _ *httpcall.HostConfig) { o.RefreshToken = "abc" },
		"oauth.params": func(o *httpcall.OAuthConfig, _ *httpcall.HostConfig) {
			o.RefreshToken, o.Params = "again", map[string]string{"audience": "a"}
		},
		"oauth": func(_ *httpcall.OAuthConfig, h *httpcall.HostConfig) {
			h.Headers = map[string]string{"authorization": "Basic x"}
		},
	} {
		o, h := fine, httpcall.HostConfig{}
		change(&o, &h)
		h.OAuth = &o
		_, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{"a.example": h}})
		var setting *connector.SettingError
		if !errors.As(err, &setting) || setting.Key != "connectors.http.hosts.a.example."+key ||
			strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", key, err)
		}
	}
	_, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{"a.example": {OAuth: &fine,
		Timeout: time.Second}}})
	if err != nil {
		t.Error(err)
	}
}

// kept are refresh tokens that outlive a connector; full says that no more can be kept.
type kept struct {
	tokens map[string]string
	full   bool
}

func (k *kept) Load(configured string) (string, error) { return k.tokens[configured], nil }

func (k *kept) Save(configured, token string) error {
	if k.full {
		return errors.New("the disk is full")
	}
	k.tokens[configured] = token
	return nil
}

// A refresh token that took the place of the configured one is gone on with after a restart, until another one is
// configured. What comes with one that cannot be kept is not used before it can.
func TestARefreshTokenThatIsReplacedOutlivesARestart(t *testing.T) {
	t.Parallel()
	s := &tokens{answer: func(w http.ResponseWriter, n int) {
		fmt.Fprintf(w, `{"access_token": "access-%d", "token_type": "Bearer", "expires_in": 20, "refresh_token": "again-%d"}`,
			n, n)
	}}
	_, at := server(t, s.ServeHTTP)
	requests := 0
	_, host := server(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		_ = json.NewEncoder(w).Encode(r.Header)
	})
	store := &kept{tokens: map[string]string{}}
	start := func(configured string) *connector.Registry {
		return client(t, host, func(c *httpcall.Config, h *httpcall.HostConfig) {
			c.RefreshTokens = store
			h.OAuth = &httpcall.OAuthConfig{TokenURL: "http://" + at + "/token", ClientID: "pawl", RefreshToken: configured}
		})
	}
	call := func(r *connector.Registry) connector.Outcome {
		return r.Perform(t.Context(), mutation("post", object{"url": "http://" + host + "/",
			"headers": object{"X-Echo": "again-1 again-2 again-3"}}))
	}
	for _, configured := range []string{"first", "first", "second", "first"} {
		wantOutcome(t, call(start(configured)), connector.Applied, "", "")
	}
	var sent []string
	for _, form := range s.asked {
		sent = append(sent, form.Get("refresh_token"))
	}
	if want := []string{"first", "again-1", "second", "again-2"}; !slices.Equal(sent, want) {
		t.Errorf("tokens were asked for with %v, want %v", sent, want)
	}
	for name, sealed := range store.tokens {
		raw, err := base64.StdEncoding.DecodeString(sealed)
		if strings.Contains(name, "first") || len(name) != 64 || err != nil || strings.Contains(string(raw), "again") {
			t.Errorf("a token is kept as %s: %s (%v)", name, sealed, err)
		}
		store.tokens[name] = sealed[:8] + "AAAA" + sealed[12:]
	}
	damaged := httpcall.OAuthConfig{TokenURL: "http://" + at + "/token", ClientID: "pawl", RefreshToken: "first"}
	_, err := httpcall.New(httpcall.Config{RefreshTokens: store, Hosts: map[string]httpcall.HostConfig{
		host: {Private: true, OAuth: &damaged}}})
	if err == nil || !strings.Contains(err.Error(), "it is damaged: delete it") {
		t.Errorf("what is damaged is gone on with: %v", err)
	}

	store.full, requests = true, 0
	r := start("third")
	for range 2 {
		out := call(r)
		wantOutcome(t, out, connector.Failed, eventlog.Transient, "http.token")
		if requests != 0 || !strings.Contains(out.Failure.Message, "the disk is full") {
			t.Errorf("%d requests; %s", requests, out.Failure.Message)
		}
	}
	store.full = false
	wantOutcome(t, call(r), connector.Applied, "", "")
}

// Two hosts with the same refresh token have one source of access tokens: a service that takes each refresh token once
// refuses none of them.
func TestHostsShareARefreshToken(t *testing.T) {
	t.Parallel()
	newest := "again-0"
	s := &tokens{}
	s.answer = func(w http.ResponseWriter, n int) {
		if got := s.asked[n-1].Get("refresh_token"); got != newest {
			t.Errorf("asked with %s, and %s is the newest", got, newest)
		}
		newest = fmt.Sprintf("again-%d", n)
		fmt.Fprintf(w, `{"access_token": "access-%d", "token_type": "Bearer", "expires_in": 20, "refresh_token": %q}`, n,
			newest)
	}
	_, at := server(t, s.ServeHTTP)
	ok := func(http.ResponseWriter, *http.Request) {}
	_, one := server(t, ok)
	_, two := server(t, ok)
	source := &httpcall.OAuthConfig{TokenURL: "http://" + at + "/token", ClientID: "pawl", RefreshToken: "again-0"}
	r := client(t, one, func(c *httpcall.Config, h *httpcall.HostConfig) {
		h.OAuth = source
		c.Hosts = map[string]httpcall.HostConfig{one: *h, two: *h}
	})
	for _, host := range []string{one, two, one, two} {
		out := r.Perform(t.Context(), mutation("post", object{"url": "http://" + host + "/"}))
		wantOutcome(t, out, connector.Applied, "", "")
	}
	if len(s.asked) != 4 {
		t.Errorf("tokens were asked for %d times", len(s.asked))
	}
}
