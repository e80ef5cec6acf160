package httpcall_test

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/eventlog"
)

func server(t *testing.T, handle http.HandlerFunc) (*httptest.Server, string) {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s, strings.TrimPrefix(s.URL, "http://")
}

type result struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

func decode(t *testing.T, raw json.RawMessage) result {
	t.Helper()
	var r result
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatalf("result %s: %v", raw, err)
	}
	return r
}

func TestWhatIsSent(t *testing.T) {
	var got *http.Request
	var body []byte
	_, address := server(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(r.Context())
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Location", "/orders/7")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(201)
		io.WriteString(w, `{"id": 12345678901234567890}`)
	})
	r := client(t, address, func(_ *httpcall.Config, h *httpcall.HostConfig) {
		h.Headers = map[string]string{"authorization": "Bearer s3cret-token"}
	})
	call := mutation("post", map[string]any{
		"url": "http://" + address + "/orders?a=1#frag", "query": map[string]any{"q": "x y&z", "n": 2,
			"list": []any{"a", true}},
		"headers": map[string]string{"X-Mine": "1"},
	})
	call.Traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	call.Params = append(bytes.TrimSuffix(call.Params, []byte("}")), `,"body":{"z":1.10,"a":12345678901234567890}}`...)
	out := r.Perform(t.Context(), call)
	wantOutcome(t, out, connector.Applied, "", "")
	if want := `{"z":1.10,"a":12345678901234567890}`; string(body) != want {
		t.Errorf("body = %s, want %s byte for byte", body, want)
	}
	if want := "/orders?a=1&list=a&list=true&n=2&q=x+y%26z"; got.RequestURI != want {
		t.Errorf("uri = %s, want %s", got.RequestURI, want)
	}
	for name, want := range map[string]string{
		"Idempotency-Key": "key 1/ä", "Pawl-Workflow": "w", "Pawl-Run": "r1", "Content-Type": "application/json",
		"X-Mine":        "1",
		"Pawl-Deadline": call.Deadline.UTC().Format(time.RFC3339Nano), "Authorization": "Bearer s3cret-token",
		"User-Agent": "pawl", "Traceparent": call.Traceparent,
	} {
		if h := got.Header.Get(name); h != want {
			t.Errorf("%s = %q, want %q", name, h, want)
		}
	}
	if got.Proto != "HTTP/1.1" || len(got.TransferEncoding) != 0 {
		t.Errorf("sent as %s, %v", got.Proto, got.TransferEncoding)
	}
	res := decode(t, out.Result)
	if res.Status != 201 || string(res.Body) != `{"id": 12345678901234567890}` ||
		res.Headers["location"] != "/orders/7" || res.Headers["set-cookie"] != "" {
		t.Errorf("result = %s", out.Result)
	}
}

func TestRequestsWithoutABodyAreFramed(t *testing.T) {
	var length int64
	var chunked bool
	_, address := server(t, func(_ http.ResponseWriter, r *http.Request) {
		length, chunked = r.ContentLength, len(r.TransferEncoding) > 0
	})
	r := client(t, address, nil)
	for _, m := range mutations {
		out := r.Perform(t.Context(), mutation(m.operation, map[string]any{"url": "http://" + address + "/"}))
		wantOutcome(t, out, connector.Applied, "", "")
		if length != 0 || chunked {
			t.Errorf("%s: length %d, chunked %v", m.method, length, chunked)
		}
	}
}

// A read that was never connected says so; one whose connection broke has no answer that can be used.
func TestReadThatIsNotConnected(t *testing.T) {
	_, address := server(t, func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unserved := listener.Addr().String()
	listener.Close()
	r := client(t, address, func(c *httpcall.Config, h *httpcall.HostConfig) {
		c.Hosts = map[string]httpcall.HostConfig{address: *h, unserved: *h}
	})
	for _, c := range []struct{ host, code, says string }{
		{unserved, "http.connect", "GET http://" + unserved + "/a could not connect: dial tcp"},
		{address, "http.answer", "GET http://" + address + "/a has no usable answer: the other side closed the connection"},
	} {
		_, err := r.Read(t.Context(), mutation("get", map[string]any{"url": "http://" + c.host + "/a?secret=1"}))
		if f := failureOf(t, err); f.Class != eventlog.Transient || f.Code != c.code || !strings.HasPrefix(f.Message,
			c.says) || strings.Contains(f.Message, "secret") {
			t.Errorf("%+v, want %s: %s", f, c.code, c.says)
		}
	}
}

func TestParametersThatAreRefused(t *testing.T) {
	_, address := server(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	r := client(t, address, func(c *httpcall.Config, h *httpcall.HostConfig) {
		h.Headers = map[string]string{"X-Api-Key": "s3cret-key"}
		c.Hosts = map[string]httpcall.HostConfig{address: *h, "public.example": {Headers: h.Headers}, "localhost": {}}
	})
	local := "http://" + address + "/"
	header := func(name, value string) map[string]any {
		return map[string]any{"url": local, "headers": map[string]string{name: value}}
	}
	for name, c := range map[string]struct {
		params map[string]any
		class  eventlog.Class
		code   string
	}{
		"other host": {map[string]any{"url": "https://elsewhere.example/"}, eventlog.Permission, "http.host"},
		"other port": {map[string]any{"url": "https://public.example:8443/"}, eventlog.Permission, "http.host"},
		"sub-domain": {map[string]any{"url": "https://a.public.example/"}, eventlog.Permission, "http.host"},
		"host in user part": {map[string]any{"url": "https://public.example@elsewhere.example/"}, eventlog.Logic,
			"http.url"},
		"scheme":            {map[string]any{"url": "file:///etc/passwd"}, eventlog.Logic, "http.url"},
		"relative":          {map[string]any{"url": "/path"}, eventlog.Logic, "http.url"},
		"line break in url": {map[string]any{"url": local + "\r\nX: y"}, eventlog.Logic, "http.url"},
		"secret over http":  {map[string]any{"url": "http://public.example/"}, eventlog.Permission, "http.insecure"},
		"body and text":     {map[string]any{"url": local, "body": 1, "text": "x"}, eventlog.Logic, "call.params"},
		"line break":        {header("X-A", "a\r\nX-B: c"), eventlog.Logic, "http.header"},
		"header name":       {header("X A", "a"), eventlog.Logic, "http.header"},
		"configured header": {header("x-api-key", "mine"), eventlog.Logic, "http.header"},
		"host header":       {header("Host", "x"), eventlog.Logic, "http.header"},
		"length":            {header("content-length", "1"), eventlog.Logic, "http.header"},
		"connection":        {header("Connection", "close"), eventlog.Logic, "http.header"},
		"key":               {header("Idempotency-Key", "1"), eventlog.Logic, "http.header"},
		"pawl":              {header("pawl-deadline", "1"), eventlog.Logic, "http.header"},
		"unknown parameter": {map[string]any{"url": local, "method": "GET"}, eventlog.Logic, "call.params"},
		"private address":   {map[string]any{"url": "http://localhost/"}, eventlog.Permission, "http.private"},
	} {
		t.Run(name, func(t *testing.T) {
			out := r.Perform(t.Context(), mutation("post", c.params))
			wantOutcome(t, out, connector.Failed, c.class, c.code)
			if c.params["body"] == nil {
				_, err := r.Read(t.Context(), mutation("get", c.params))
				if f := failureOf(t, err); f.Class != c.class || f.Code != c.code {
					t.Errorf("read: %+v, want %s %s", f, c.class, c.code)
				}
			}
		})
	}
}

func TestStatusesOfARead(t *testing.T) {
	_, address := server(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		fmt.Sscanf(r.URL.Path, "/%d", &status)
		w.WriteHeader(status)
	})
	r := client(t, address, nil)
	for status, class := range map[int]eventlog.Class{
		304: eventlog.Logic, 400: eventlog.Logic, 401: eventlog.Auth, 403: eventlog.Auth, 404: eventlog.Precondition,
		408: eventlog.Transient,
		410: eventlog.Precondition, 412: eventlog.Precondition, 418: eventlog.Logic, 422: eventlog.Logic,
		429: eventlog.Transient,
		500: eventlog.Transient, 503: eventlog.Transient,
	} {
		_, err := r.Read(t.Context(), mutation("get",
			map[string]any{"url": fmt.Sprintf("http://%s/%d", address, status)}))
		if f := failureOf(t, err); f.Class != class {
			t.Errorf("%d: %+v, want %s", status, f, class)
		}
	}
}

func TestBodies(t *testing.T) {
	_, address := server(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		w.Header()["Content-Type"] = q["type"]
		io.WriteString(w, q.Get("body"))
	})
	r := client(t, address, nil)
	for _, c := range []struct{ contentType, body, want string }{
		{"application/json", `{"a":1}`, `{"a":1}`},
		{"application/json; charset=utf-8", ` [1] `, `[1]`},
		{"application/problem+json", `"x"`, `"x"`},
		{"application/json", ``, `null`},
		{"text/plain; charset=utf-8", `{"a":1}`, `{"a":1}`},
		{"", `[1]`, `[1]`},
		{"text/plain", `5`, `"5"`},
		{"text/plain", `{broken`, `"{broken"`},
		{"text/html", `{"a":1}`, `"{\"a\":1}"`},
		{"application/octet-stream", "\xff", `"\ufffd"`},
	} {
		raw, err := r.Read(t.Context(), mutation("get", map[string]any{
			"url": "http://" + address + "/?" + url.Values{"type": {c.contentType}, "body": {c.body}}.Encode(),
		}))
		if err != nil {
			t.Errorf("%q %q: %v", c.contentType, c.body, err)
			continue
		}
		if got := decode(t, raw); string(got.Body) != c.want {
			t.Errorf("%q %q: body %s, want %s", c.contentType, c.body, got.Body, c.want)
		}
	}
}

func TestBigAnswers(t *testing.T) {
	size := 0
	_, address := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Write(bytes.Repeat([]byte{'"'}, size))
	})
	r := client(t, address, nil)
	params := map[string]any{"url": "http://" + address + "/"}
	for _, c := range []struct {
		size int
		want string
	}{
		{connector.MaxResult + 5, `{"truncated":true,"bytes":1048581}`},
		{connector.MaxResult / 2, `{"truncated":true,"bytes":524288}`}, // doubled by the quotes' escapes
	} {
		size = c.size
		out := r.Perform(t.Context(), mutation("post", params))
		wantOutcome(t, out, connector.Applied, "", "")
		if got := decode(t, out.Result); got.Status != 200 || string(got.Body) != c.want {
			t.Errorf("result = %.200s, want body %s", out.Result, c.want)
		}
	}
	size = connector.MaxResult + 5
	_, err := r.Read(t.Context(), mutation("get", params))
	if f := failureOf(t, err); f.Code != "limit.read" {
		t.Errorf("read: %+v", f)
	}
}

func TestRedirectsOfAReadStayOnConfiguredHosts(t *testing.T) {
	var other, back string
	_, foreign := server(t, func(http.ResponseWriter, *http.Request) {
		t.Error("a host that is not configured was called")
	})
	_, second := server(t, func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if name == "X-Script" || name == "X-Api-Key" || name == "X-Second" {
				// Its own neither: the first host has chosen what is asked for here.
				t.Errorf("the second host got %s", name)
			}
		}
		if r.URL.Path == "/back" {
			http.Redirect(w, r, back, http.StatusFound)
			return
		}
		io.WriteString(w, `{"at":"second"}`)
	})
	hops := 0
	_, first := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/same":
			if r.Header.Get("X-Script") != "1" || r.Header.Get("X-Api-Key") != "s3cret" {
				t.Error("headers lost on the way to the same host")
			}
			http.Redirect(w, r, "http://"+other+"/", http.StatusFound)
		case "/deep":
			http.Redirect(w, r, "http://"+other+"/back", http.StatusFound)
		case "/returned":
			for name := range r.Header {
				if name == "X-Script" || name == "X-Api-Key" {
					t.Errorf("the first host got %s, although the second has chosen what is asked for", name)
				}
			}
			io.WriteString(w, `{"at":"returned"}`)
		case "/loop":
			hops++
			http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
		default:
			http.Redirect(w, r, "/same", http.StatusMovedPermanently)
		}
	})
	r := client(t, first, func(c *httpcall.Config, _ *httpcall.HostConfig) {
		c.Hosts = map[string]httpcall.HostConfig{
			first:  {Private: true, Headers: map[string]string{"X-Api-Key": "s3cret"}},
			second: {Private: true, Headers: map[string]string{"X-Second": "2"}},
		}
	})
	get := func(path string) (json.RawMessage, error) {
		return r.Read(t.Context(), mutation("get", map[string]any{"url": "http://" + first + path,
			"headers": map[string]string{"X-Script": "1"}}))
	}
	other = second
	if raw, err := get("/"); err != nil || string(decode(t, raw).Body) != `{"at":"second"}` {
		t.Errorf("read = %s, %v", raw, err)
	}
	back = "http://" + first + "/returned"
	if raw, err := get("/deep"); err != nil || string(decode(t, raw).Body) != `{"at":"returned"}` {
		t.Errorf("read = %s, %v", raw, err)
	}
	other = foreign
	_, err := get("/")
	if f := failureOf(t, err); f.Code != "http.host" {
		t.Errorf("redirect to a foreign host: %+v", f)
	}
	_, err = get("/loop")
	if f := failureOf(t, err); f.Code != "http.redirect" || hops != 6 {
		t.Errorf("endless redirect: %+v after %d requests", f, hops)
	}
}

func TestSecretsAreBlankedOut(t *testing.T) {
	_, address := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", r.Header.Get("Authorization"))
		if r.URL.Path == "/bad" {
			w.WriteHeader(400)
		}
		fmt.Fprintf(w, "you sent %s", r.Header.Get("Authorization"))
	})
	r := client(t, address, func(_ *httpcall.Config, h *httpcall.HostConfig) {
		h.Headers = map[string]string{"Authorization": "Bearer s3cret-token"}
	})
	raw, err := r.Read(t.Context(), mutation("get", map[string]any{"url": "http://" + address + "/"}))
	if err != nil || strings.Contains(string(raw), "s3cret") || !strings.Contains(string(raw), "***") {
		t.Errorf("read = %s, %v", raw, err)
	}
	out := r.Perform(t.Context(), mutation("post", map[string]any{"url": "http://" + address + "/bad"}))
	wantOutcome(t, out, connector.Failed, eventlog.Logic, "http.status")
	if strings.Contains(out.Failure.Message, "s3cret") || !strings.Contains(out.Failure.Message, "you sent") {
		t.Errorf("message = %s", out.Failure.Message)
	}
}

// Grants may name the host of a call: it is written in one way only, and asked about before a read follows
// a redirect to another one.
func TestTheHostOfACall(t *testing.T) {
	_, second := server(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "second") })
	_, first := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/here" {
			http.Redirect(w, r, "/there", http.StatusFound)
			return
		}
		http.Redirect(w, r, "http://"+second+"/", http.StatusFound)
	})
	r := client(t, first, func(c *httpcall.Config, h *httpcall.HostConfig) {
		c.Hosts = map[string]httpcall.HostConfig{first: *h, second: *h, "api.example.com": {},
			"api.example.com:8443": {}, "[::1]:9000": *h, "bücher.example": {}}
	})
	for raw, want := range map[string]string{
		"https://API.example.com/a": "api.example.com", "https://api.example.com:443/a": "api.example.com",
		"http://api.example.com:80":     "api.example.com",
		"https://api.example.com:8443/": "api.example.com:8443", "http://[::1]:9000/": "[::1]:9000",
		"https://bücher.example":     "xn--bcher-kva.example",
		"https://elsewhere.example/": "", "nonsense": "", "http://" + first + "/": first,
	} {
		for _, operation := range []string{"get", "post"} {
			if got := r.Host(mutation(operation, map[string]any{"url": raw})); got != want {
				t.Errorf("%s %s: host %q, want %q", operation, raw, got, want)
			}
		}
	}
	call := mutation("get", map[string]any{"url": "http://" + first + "/here"})
	var asked []string
	call.Reach = func(host string) *eventlog.Failure {
		asked = append(asked, host)
		return connector.Failf(eventlog.Permission, "grant.denied", "not there")
	}
	_, err := r.Read(t.Context(), call)
	if f := failureOf(t, err); f.Code != "grant.denied" || len(asked) != 1 || asked[0] != second {
		t.Errorf("%+v after %q was asked about, want only %s", f, asked, second)
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto)
	}))
	t.Cleanup(s.Close)
	address := strings.TrimPrefix(s.URL, "https://")
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	trusting := client(t, address, func(c *httpcall.Config, _ *httpcall.HostConfig) { c.RootCAs = pool })
	call := mutation("post", map[string]any{"url": s.URL, "body": 1})
	for range 2 { // the second one on the kept connection
		out := trusting.Perform(t.Context(), call)
		wantOutcome(t, out, connector.Applied, "", "")
		if got := decode(t, out.Result); string(got.Body) != `"HTTP/1.1"` {
			t.Errorf("body = %s", got.Body)
		}
	}
	out := client(t, address, nil).Perform(t.Context(), call)
	wantOutcome(t, out, connector.Failed, eventlog.Transient, "http.connect")
}

func TestConfigErrorsNameTheKey(t *testing.T) {
	rule := func(get string, applied, failed int) *httpcall.ReconcileConfig {
		return &httpcall.ReconcileConfig{Get: get, Applied: httpcall.Rule{Status: applied},
			Failed: httpcall.Rule{Status: failed}}
	}
	for name, c := range map[string]struct {
		hosts map[string]httpcall.HostConfig
		want  string
	}{
		"none":   {nil, "connectors.http.hosts"},
		"scheme": {map[string]httpcall.HostConfig{"https://a": {}}, "connectors.http.hosts.https://a"},
		"port":   {map[string]httpcall.HostConfig{"a:x": {}}, "port"},
		"twice":  {map[string]httpcall.HostConfig{"A.example": {}, "a.example": {}}, "same host"},
		"header": {map[string]httpcall.HostConfig{"a": {Headers: map[string]string{"X": "s3cret\n"}}}, "headers"},
		"own header": {map[string]httpcall.HostConfig{"a": {Headers: map[string]string{"idempotency-key": "1"}}},
			"idempotency-key"},
		"timeout": {map[string]httpcall.HostConfig{"a": {Timeout: -1}}, "timeout"},
		"no key":  {map[string]httpcall.HostConfig{"a": {Reconcile: rule("/x", 200, 404)}}, "idempotencyKey"},
		"other host": {map[string]httpcall.HostConfig{"a": {Reconcile: rule("//b/{idempotencyKey}", 200, 404)}},
			"reconcile: get"},
		"no rule": {map[string]httpcall.HostConfig{"a": {Reconcile: rule("/{idempotencyKey}", 0, 0)}},
			"applied.status"},
		"same rule": {map[string]httpcall.HostConfig{"a": {Reconcile: rule("/{idempotencyKey}", 200, 200)}},
			"same status"},
		"not a status": {map[string]httpcall.HostConfig{"a": {Reconcile: rule("/{idempotencyKey}", 99, 0)}}, "99"},
	} {
		_, err := httpcall.New(httpcall.Config{Hosts: c.hosts})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: error %v, want one about %s", name, err, c.want)
		}
		var wrong *connector.SettingError
		if !errors.As(err, &wrong) || !strings.HasPrefix(wrong.Key, "connectors.http.hosts") {
			t.Errorf("%s: the key of %v is %+v", name, err, wrong)
		}
	}
	_, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{"a.b": {Reconcile: rule(
		"/{idempotencyKey}", 200, 99)}}})
	var wrong *connector.SettingError
	if !errors.As(err, &wrong) || wrong.Key != "connectors.http.hosts.a.b.reconcile.failed.status" {
		t.Errorf("a status: the key is %+v", wrong)
	}
}
