package ops

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
)

// TestWebPages: an engine is closed to web pages, whatever name they come by and whatever the method,
// also where the page has got hold of the token or none is asked for.
func TestWebPages(t *testing.T) {
	t.Parallel()
	for _, noAuth := range []bool{false, true} {
		b := setup(t, func(c *Config, _ *enginetest.Harness) { c.NoAuth, c.PublicURL = noAuth, "https://Pawl.example.com" })
		b.deploy("shop", "send", eventlog.GrantAllow)
		own := strings.TrimPrefix(b.http.URL, "http://")
		for name, c := range map[string]struct {
			headers []string
			status  int
			code    string
		}{
			"plain":                     {nil, 200, ""},
			"localhost":                 {[]string{"Host", "localhost:7070"}, 200, ""},
			"IPv6":                      {[]string{"Host", "[::1]:7070"}, 200, ""},
			"rebound name":              {[]string{"Host", "evil.example.com"}, 403, "host.forbidden"},
			"rebound name with port":    {[]string{"Host", "evil.example.com:7070"}, 403, "host.forbidden"},
			"name like loopback":        {[]string{"Host", "127.0.0.1.example.com"}, 403, "host.forbidden"},
			"another machine's address": {[]string{"Host", "192.168.1.5:7070"}, 403, "host.forbidden"},
			"public name":               {[]string{"Host", "pawl.EXAMPLE.com"}, 200, ""},
			"public origin by a proxy":  {[]string{"Origin", "https://pawl.example.com"}, 200, ""},
			"public host, unencrypted":  {[]string{"Origin", "http://pawl.example.com"}, 403, "origin.forbidden"},
			"own origin":                {[]string{"Origin", b.http.URL}, 200, ""},
			"own host, other port":      {[]string{"Host", own, "Origin", "http://127.0.0.1:1"}, 403, "origin.forbidden"},
			"other origin":              {[]string{"Origin", "https://evil.example.com"}, 403, "origin.forbidden"},
			"hidden origin":             {[]string{"Origin", "null"}, 403, "origin.forbidden"},
			"cross-site fetch":          {[]string{"Sec-Fetch-Site", "cross-site"}, 403, "origin.forbidden"},
			"same-site fetch":           {[]string{"Sec-Fetch-Site", "same-site"}, 403, "origin.forbidden"},
			"same-origin fetch":         {[]string{"Sec-Fetch-Site", "same-origin"}, 200, ""},
			"typed address":             {[]string{"Sec-Fetch-Site", "none"}, 200, ""},
		} {
			for method, path := range map[string]string{"GET": "/v1/workflows", "HEAD": "/v1/log",
				"POST": "/v1/workflows/shop/resume"} {
				before := b.last()
				res, body := b.request(method, path, "", c.headers...)
				if res.StatusCode != c.status || c.code != "" && method != "HEAD" && mustJSON(t, body)["code"] != c.code {
					t.Errorf("%s %s: %d %s", method, name, res.StatusCode, body)
				}
				if b.last() != before {
					t.Errorf("%s %s: something was recorded", method, name)
				}
			}
			if c.status != 200 {
				if res, _ := b.request("GET", "/healthz", "", c.headers...); res.StatusCode != c.status {
					t.Errorf("health, %s: %d", name, res.StatusCode)
				}
			}
		}
	}
}

// TestBodyIsJSON: a body must say that it is JSON, which a page cannot across origins without asking.
func TestBodyIsJSON(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for media, want := range map[string]int{
		"application/json": 200, "application/json; charset=utf-8": 200, "Application/JSON": 200,
		"text/plain": 415, "application/x-www-form-urlencoded": 415, "multipart/form-data; boundary=x": 415, "": 415,
	} {
		if res, body := b.request("POST", "/v1/validate", `{"source":""}`, "Content-Type", media); res.StatusCode != want {
			t.Errorf("%q: %d %s", media, res.StatusCode, body)
		}
	}
}

// TestToken: everything but health asks for the token, on loopback too, and no answer shows it.
func TestToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	for path, want := range map[string]int{
		"/healthz": 200, "/readyz": 200, "/metrics": 401, "/v1/workflows": 401, "/v1/openapi.json": 401, "/nothing": 401,
		"/v1/log": 401, "/v1/log?follow=true": 401,
	} {
		res, body := b.request("GET", path, "", "Authorization", "")
		if res.StatusCode != want || want == 401 && res.Header.Get("WWW-Authenticate") == "" ||
			strings.Contains(string(body), testToken) {
			t.Errorf("%s without token: %d %s", path, res.StatusCode, body)
		}
	}
	before := b.last()
	for header, want := range map[string]int{
		"Bearer " + testToken: 200, "bearer " + testToken: 200, "Bearer wrong": 401, "Bearer ": 401, "Basic " +
			testToken: 401, testToken: 401, "Bearer " + testToken + "x": 401,
	} {
		if res, _ := b.request("GET", "/v1/workflows", "", "Authorization", header); res.StatusCode != want {
			t.Errorf("%q: %d, want %d", header, res.StatusCode, want)
		}
		if want == 401 {
			if res, _ := b.request("POST", "/v1/workflows/shop/pause", "", "Authorization", header); res.StatusCode != want {
				t.Errorf("pause with %q: %d, want %d", header, res.StatusCode, want)
			}
		}
	}
	if b.last() != before {
		t.Error("a call without the token was recorded")
	}
}

// TestNoToken: that no token is wanted must be said, and is never true beyond loopback.
func TestNoToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.server.cfg
	cfg.Token = ""
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "Token is required") {
		t.Errorf("without a token: %v", err)
	}
	cfg.NoAuth = true
	open, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1/v1/workflows", nil)
	rec := httptest.NewRecorder()
	if open.Handler().ServeHTTP(rec, req); rec.Code != http.StatusOK {
		t.Errorf("without a token, as wanted: %d %s", rec.Code, rec.Body)
	}
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	if err := open.Serve(t.Context(), ln); err == nil || !strings.Contains(err.Error(), "only loopback") {
		t.Errorf("beyond loopback: %v", err)
	}
}

// TestExposed: a listener beyond loopback answers to addresses, which no page can make point here, and
// to the public URL's name.
func TestExposed(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config, _ *enginetest.Harness) { c.PublicURL = "https://pawl.example.com" })
	for addr, want := range map[string]map[string]int{
		"127.0.0.1":   {"192.168.1.5:7070": 403, "evil.example.com": 403, "pawl.example.com": 200, "localhost": 200},
		"::1":         {"[2001:db8::1]:7070": 403, "evil.example.com": 403, "pawl.example.com": 200},
		"0.0.0.0":     {"192.168.1.5:7070": 200, "evil.example.com": 403, "pawl.example.com": 200, "[2001:db8::1]:7070": 200},
		"192.168.1.5": {"192.168.1.5": 200, "evil.example.com:7070": 403, "localhost": 200},
	} {
		for host, want := range want {
			ctx := auth.Exposed(t.Context(), &net.TCPAddr{IP: net.ParseIP(addr), Port: 7070})
			req := httptest.NewRequestWithContext(ctx, "GET", "http://"+host+"/v1/workflows", nil)
			authorize(req)
			rec := httptest.NewRecorder()
			if b.server.Handler().ServeHTTP(rec, req); rec.Code != want {
				t.Errorf("listening on %s, called %s: %d, want %d", addr, host, rec.Code, want)
			}
		}
	}
	for _, wrong := range []string{"pawl.example.com", "ftp://pawl.example.com", "https://user@pawl.example.com",
		"https://pawl.example.com/path", "https://", "https://a?b"} {
		if _, err := auth.ParsePublicURL(wrong); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}
