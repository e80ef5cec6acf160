package httpcall_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/eventlog"
)

// reading configures two reads by other methods.
func reading(_ *httpcall.Config, h *httpcall.HostConfig) {
	h.Reads = []string{"POST /v1/search", "QUERY /v1/a b"}
}

// A read by POST goes to the listed address with its body, without the key of a mutation.
func TestReadsByPostAreSent(t *testing.T) {
	t.Parallel()
	var got *http.Request
	body, status := "", 200
	_, address := server(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		got, body = r.Clone(r.Context()), string(raw)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Location", "/v1/search")
		w.WriteHeader(status)
		io.WriteString(w, `{"found": 2}`)
	})
	r := client(t, address, reading)
	search := object{"method": "POST", "url": "http://" + address + "/v1/search?page=2", "body": object{"q": "a"}}
	raw, err := r.Read(t.Context(), mutation("read", search))
	if err != nil || string(decode(t, raw).Body) != `{"found": 2}` {
		t.Fatalf("%v %s", err, raw)
	}
	if got.Method != "POST" || got.RequestURI != "/v1/search?page=2" || body != `{"q":"a"}` ||
		got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Idempotency-Key") != "" {
		t.Errorf("%s %s %s %v", got.Method, got.RequestURI, body, got.Header)
	}
	raw, err = r.Read(t.Context(), mutation("read", object{"method": "QUERY", "url": "http://" + address + "/v1/a%20b",
		"form": object{"q": "a b"}}))
	if err != nil || got.Method != "QUERY" || body != "q=a+b" {
		t.Errorf("%v %s %s: %s", err, got.Method, body, raw)
	}
	for answer, want := range map[int]struct {
		class eventlog.Class
		code  string
	}{
		503: {eventlog.Transient, "http.status"}, 422: {eventlog.Logic, "http.status"},
		307: {eventlog.Logic, "http.redirect"},
	} {
		status = answer
		_, err := r.Read(t.Context(), mutation("read", search))
		if f := failureOf(t, err); f.Class != want.class || f.Code != want.code {
			t.Errorf("%d: %+v", answer, f)
		}
	}
}

// What is not listed is not sent, in whatever way its path is written; and no header makes another method of a read.
func TestReadsThatAreNotListedAreNotSent(t *testing.T) {
	t.Parallel()
	_, address := server(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s was sent", r.Method, r.RequestURI)
	})
	r := client(t, address, reading)
	here := "http://" + address
	for _, c := range []struct{ method, path, code string }{
		{"POST", "/v1/orders", connector.CodeReads},
		{"POST", "/v1/search/", connector.CodeReads},
		{"POST", "/v1/Search", connector.CodeReads},
		{"POST", "//v1/search", connector.CodeReads},
		{"POST", "/v1//search", connector.CodeReads},
		{"POST", "/v1/orders/../search", connector.CodeReads},
		{"POST", "/v1/%2e%2e/v1/search", connector.CodeReads},
		{"POST", "/v1%2fsearch", connector.CodeReads},
		{"POST", "/v1%5Csearch", connector.CodeReads},
		{"POST", "/v1/a%20b", connector.CodeReads},
		{"SEARCH", "/v1/search", connector.CodeReads},
		{"DELETE", "/v1/search", connector.CodeParams},
		{"post", "/v1/search", connector.CodeParams},
	} {
		_, err := r.Read(t.Context(), mutation("read", object{"method": c.method, "url": here + c.path}))
		if f := failureOf(t, err); f.Code != c.code {
			t.Errorf("%s %s: %+v", c.method, c.path, f)
		}
	}
	for _, operation := range []string{"get", "read"} {
		params := object{"url": here + "/v1/search", "headers": object{"x-http-method-OVERRIDE": "DELETE"}}
		if operation == "read" {
			params["method"] = "POST"
		}
		_, err := r.Read(t.Context(), mutation(operation, params))
		if f := failureOf(t, err); f.Code != "http.header" {
			t.Errorf("%s: %+v", operation, f)
		}
	}
}

// What asks a server for another method or address than the listed one is not sent, wherever it stands.
func TestReadsThatAskForAnotherMethodAreNotSent(t *testing.T) {
	t.Parallel()
	_, address := server(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s was sent", r.Method, r.RequestURI)
	})
	r := client(t, address, func(c *httpcall.Config, h *httpcall.HostConfig) {
		reading(c, h)
		withSecret(t, address)(c, h)
	})
	formType := object{"content-type": "Application/X-WWW-Form-Urlencoded; charset=utf-8"}
	for what, c := range map[string]struct {
		params object
		code   string
	}{
		"query":            {object{"query": object{"_METHOD": "DELETE"}}, connector.CodeParams},
		"url":              {object{"url": "http://" + address + "/v1/search?a=1;%5fmethod=PUT"}, connector.CodeParams},
		"form":             {object{"form": object{"_method": "DELETE"}}, connector.CodeParams},
		"text as a form":   {object{"text": "a=1&_method=DELETE", "headers": formType}, connector.CodeParams},
		"base64 as a form": {object{"base64": "X21ldGhvZD1QVVQ=", "headers": formType}, connector.CodeParams},
		"multipart":        {object{"multipart": []object{{"name": "_method", "content": "PUT"}}}, connector.CodeParams},
		"text as multipart": {object{"text": "--a", "headers": object{"Content-Type": "multipart/form-data; boundary=a"}},
			connector.CodeParams},
		"original url":  {object{"headers": object{"X-Original-URL": "/v1/orders"}}, "http.header"},
		"rewritten url": {object{"headers": object{"x-rewrite-url": "/v1/orders"}}, "http.header"},
		"secret header": {object{"secret": object{"header": object{"x-http-method": "KEY"}}}, "http.header"},
		"secret query":  {object{"secret": object{"query": object{"_method": "KEY"}}}, connector.CodeParams},
		"secret field": {object{"form": object{"a": "1"}, "secret": object{"body": object{"_method": "KEY"}}},
			connector.CodeParams},
	} {
		c.params["method"] = "POST"
		if c.params["url"] == nil {
			c.params["url"] = "http://" + address + "/v1/search"
		}
		_, err := r.Read(t.Context(), mutation("read", c.params))
		if f := failureOf(t, err); f.Code != c.code {
			t.Errorf("%s: %+v", what, f)
		}
	}
}

// A line that could mean more than one place, or none, is refused at the start.
func TestReadsThatCannotBeListed(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "POST", "/v1/search", "GET /v1/search", "DELETE /v1/search", "POST v1/search",
		"POST /v1//search", "POST /v1/../search", "POST /v1/./search", "POST /v1/search?a=1", "POST /v1%2fsearch",
		`POST /v1\s`, "post /v1/search", "POST  /v1/search"} {
		host := httpcall.HostConfig{Reads: []string{line}}
		_, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{"api.example.com": host}})
		var setting *connector.SettingError
		if !errors.As(err, &setting) || setting.Key != "connectors.http.hosts.api.example.com.reads[0]" ||
			!strings.Contains(err.Error(), "reads[0]") {
			t.Errorf("%q: %v", line, err)
		}
	}
}
