package httpcall_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
)

func answering(b *testing.B) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":1}`)
	}))
	b.Cleanup(s.Close)
	return s
}

// registryFor has an http connector that may call that host.
func registryFor(b *testing.B, host string) *connector.Registry {
	c, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{host: {Private: true}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	r, err := connector.NewRegistry(c)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// BenchmarkPost is one mutation through the registry, BenchmarkPlainPost the same request with
// net/http alone: the difference is what the connector costs.
func BenchmarkPost(b *testing.B) {
	s := answering(b)
	address := strings.TrimPrefix(s.URL, "http://")
	r := registryFor(b, address)
	call := mutation("post", map[string]any{"url": s.URL + "/orders", "body": map[string]any{"n": 1,
		"title": "an order"}})
	b.ReportAllocs()
	for b.Loop() {
		if out := r.Perform(b.Context(), call); out.Status != connector.Applied {
			b.Fatal(out.Failure)
		}
	}
}

func BenchmarkPlainPost(b *testing.B) {
	s := answering(b)
	b.ReportAllocs()
	for b.Loop() {
		response, err := http.Post(s.URL+"/orders", "application/json", strings.NewReader(`{"n":1,"title":"an order"}`))
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
}

// BenchmarkQuestions asks what the engine asks about one mutation between the script and the send.
func BenchmarkQuestions(b *testing.B) {
	r := registryFor(b, "127.0.0.1:9")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		call := mutation("post", map[string]any{"url": "http://127.0.0.1:9/orders", "body": map[string]any{"n": i,
			"title": "an order"}})
		r.Timeout(call)
		for range 2 { // when the call is named, and before it is sent
			if r.Host(call) != "127.0.0.1:9" || len(r.Secrets(call)) > 0 {
				b.Fatal("not the host or the secrets of the call")
			}
			if _, failure := r.Turn(b.Context(), call); failure != nil {
				b.Fatal(failure)
			}
		}
	}
}
