package httpcall

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/secret"
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
		width := 1
		if i%64 == 63 {
			width = 32 << 10 // more than the cache takes
		}
		// The caller's memory is used for the next call again.
		params = fmt.Appendf(params[:0], `{"url":"https://%s/","secret":{"header":{"X":%q}},"text":"%*d"}`, host, secret,
			width, i)
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

// Calls with the same parameters share what was read from them. What one of them adds, such as a secret, is in no
// other.
func TestCallsShareOnlyWhatIsRead(t *testing.T) {
	key, err := secret.Of([]string{"the-planted-value"}, []string{"a.example"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{Hosts: map[string]HostConfig{"a.example": {}},
		Named: secret.NewSet(map[string]secret.Secret{"KEY": key})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	call := connector.Call{Connector: "http", Operation: "get", Params: []byte(`{"url":"https://a.example/{t}?x=1",` +
		`"query":{"y":2},"form":{"f":"g"},"expect":[404,409,410],"ifNoneMatch":"e",` +
		`"secret":{"body":{"k":"KEY"},"query":{"q":"KEY"},"path":{"t":"KEY"},"header":{"X":"KEY"}}}`)}
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			for range 50 {
				p, to, failure := c.parse(call)
				if failure != nil {
					t.Error(failure)
					return
				}
				p.expectNotModified(call)
				got := fmt.Sprint(p.Expect, p.Form, to.url, to.sent(), to.secret)
				if want := "[404 409 410 304] map[f:g k:the-planted-value] https://a.example/%7Bt%7D?x=1&y=2 " +
					"https://a.example/the-planted-value?x=1&y=2&q=the-planted-value map[X:[the-planted-value]]"; got != want {
					t.Errorf("the call is %s, want %s", got, want)
				}
			}
		})
	}
	calls.Wait()
	kept := c.lookAt(call.Params)
	if kept.params.Form["k"] != nil || kept.target.wire != nil || kept.target.secret != nil {
		t.Errorf("a secret is kept with the parameters: %v", kept)
	}
}
