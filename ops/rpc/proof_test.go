package rpc

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Only what knows the token is taken for its engine, and the token itself is never sent to find out.
func TestKnows(t *testing.T) {
	const token = "pawl_SECRET"
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, own, challenge string)
		want   bool
	}{
		"the engine": {func(w http.ResponseWriter, own, c string) {
			w.Header().Set(ProofHeader, Proof(token, own, c))
		}, true},
		"a program that passes the question on to the engine": {func(w http.ResponseWriter, _, c string) {
			w.Header().Set(ProofHeader, Proof(token, "http://127.0.0.1:1", c))
		}, false},
		"an engine that does not know its address": {func(w http.ResponseWriter, _, c string) {
			w.Header().Set(ProofHeader, Proof(token, "", c))
		}, false},
		"another token": {func(w http.ResponseWriter, own, c string) {
			w.Header().Set(ProofHeader, Proof("pawl_OTHER", own, c))
		}, false},
		"no token": {func(w http.ResponseWriter, own, c string) {
			w.Header().Set(ProofHeader, Proof("", own, c))
		}, false},
		"an answer of yesterday": {func(w http.ResponseWriter, own, _ string) {
			w.Header().Set(ProofHeader, Proof(token, own, strings.Repeat("0", challengeLength)))
		}, false},
		"the challenge itself": {func(w http.ResponseWriter, _, c string) { w.Header().Set(ProofHeader, c) }, false},
		"nothing":              {func(http.ResponseWriter, string, string) {}, false},
		"an error": {func(w http.ResponseWriter, _, _ string) {
			w.WriteHeader(http.StatusInternalServerError)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "" {
					t.Error("the token was sent")
				}
				c.answer(w, "http://"+r.Host, r.Header.Get(ChallengeHeader))
			}))
			defer server.Close()
			client := &Client{URL: server.URL, Token: token}
			if err := client.Knows(t.Context(), token); (err == nil) != c.want {
				t.Errorf("%v, want it known: %v", err, c.want)
			}
		})
	}
	for _, challenge := range []string{"", "00", strings.Repeat("x", challengeLength),
		strings.Repeat("0", challengeLength+2)} {
		if got := Proof(token, "http://127.0.0.1:7070", challenge); got != "" {
			t.Errorf("%q is answered %q", challenge, got)
		}
	}
}
