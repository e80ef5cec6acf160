package httpcall

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
)

// However a script writes a host, a grant for it is found: under the one name that grants have for it.
func TestCallHost(t *testing.T) {
	private := HostConfig{Private: true}
	c, err := New(Config{Hosts: map[string]HostConfig{"api.example.com": private, "127.0.0.1:9000": private,
		"b\u00fccher.example": private, "[::1]": private, "[::1]:9000": private}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for url, want := range map[string]string{
		"https://api.example.com/x":            "api.example.com",
		"https://API.Example.COM:443/x":        "api.example.com",
		"http://api.example.com:443/x":         "api.example.com",
		"https://api.example.com:80/x":         "api.example.com",
		"http://api.example.com":               "api.example.com",
		"https://api.example.com:/x":           "api.example.com",
		"https://\uff41pi.example.com/x":       "api.example.com",
		"http://127.0.0.1:9000":                "127.0.0.1:9000",
		"https://b\u00fccher.example/":         "xn--bcher-kva.example",
		"https://XN--BCHER-KVA.example/":       "xn--bcher-kva.example",
		"https://[::1]/":                       "[::1]",
		"https://[::1]:80/":                    "[::1]",
		"https://[::1]:9000/":                  "[::1]:9000",
		"https://api.example.com.:443/":        "", // not configured, as those below
		"https://api.example.com:0443/":        "",
		"https://user@api.example.com/":        "",
		"https://api.example.com@evil.example": "",
		"https://api.example.com%2eevil/":      "",
		"https://[0:0:0:0:0:0:0:1]:9000/":      "",
		"https://127.0.0.1:9001/":              "",
		"https://2130706433:9000/":             "",
		"//api.example.com/":                   "",
		"file://api.example.com/etc/passwd":    "",
	} {
		params, err := json.Marshal(map[string]string{"url": url})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.CallHost(connector.Call{Connector: "http", Operation: "post", Params: params}); got != want {
			t.Errorf("%s goes to %q, want %q", url, got, want)
		}
	}
}

// Each call gets its own answer, whether it is found in the cache, was dropped from it, or is too large for it.
func TestEachCallIsLookedAt(t *testing.T) {
	c, err := New(Config{Hosts: map[string]HostConfig{"a.example": {}, "b.example": {}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	params := []byte(nil)
	for i := range 2048 {
		host, secret := "a.example", fmt.Sprint("key", i)
		if i%2 == 0 {
			host = "b.example"
		}
		// The caller's memory is used for the next call again.
		params = fmt.Appendf(params[:0], `{"url":"https://%s/","secret":{"header":{"X":%q}},"text":"%*d"}`, host, secret,
			1+i%3*1024, i) // each third is above the 2 KiB that the cache takes
		call := connector.Call{Connector: "http", Operation: "post", Params: params}
		for range 2 {
			if got := c.CallHost(call); got != host {
				t.Fatalf("call %d goes to %q, want %q", i, got, host)
			}
			if got := c.CallSecrets(call); len(got) != 1 || got[0] != secret {
				t.Fatalf("call %d carries %q, want %q", i, got, secret)
			}
		}
	}
}
