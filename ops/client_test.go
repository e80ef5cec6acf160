package ops

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/pawl-run/pawl/ops/rpc"
)

// TestTokenInClear: a client sends its token over https or to this machine, and nowhere else.
func TestTokenInClear(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"http://127.0.0.1:7070": true, "http://localhost:7070": true, "http://[::1]:7070": true, "http://127.8.0.1": true,
		"https://pawl.example.com": true,
		"http://pawl.example.com":  false, "http://192.168.1.5:7070": false, "http://127.0.0.1.example.com": false,
		"http://x.localhost":  false,
		"http://localhost.:1": false, "http://0.0.0.0:7070": false, "ftp://127.0.0.1": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := rpc.MayCarryToken(u); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
	sent := false
	spy := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		sent = true
		return nil, errors.New("sent")
	})}
	err := (&rpc.Client{Operations: Table(), URL: "http://pawl.example.com", Token: "s3cret", HTTP: spy}).Do(t.Context(),
		"listWorkflows", nil, nil)
	if !errors.Is(err, rpc.ErrTokenInClear) || sent {
		t.Errorf("%v, sent: %t", err, sent)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
