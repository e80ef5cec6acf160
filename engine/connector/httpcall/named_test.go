package httpcall_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/secret"
	"github.com/pawl-run/pawl/eventlog"
)

// planted is the value of the secret KEY in these tests, and old the one that it replaces.
const planted, old = `pl/ant ed"7`, "the-old-value"

// withSecret configures KEY for the hosts.
func withSecret(t *testing.T, hosts ...string) func(*httpcall.Config, *httpcall.HostConfig) {
	t.Helper()
	s, err := secret.Of([]string{planted, old}, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *httpcall.Config, _ *httpcall.HostConfig) {
		c.Named = secret.NewSet(map[string]secret.Secret{"KEY": s})
		c.Secrets = []string{planted, old}
	}
}

type object = map[string]any

// A secret goes into the request at each place that a call names it for, the first of its values, and nowhere else: the
// parameters name it, and what comes back does not show it.
func TestNamedSecretsAreSentWhereTheyAreNamed(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	_, address := server(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(r.Context())
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Request-Id", r.Header.Get("X-Key"))
		answer, _ := json.Marshal(object{"path": r.URL.Path, "uri": r.RequestURI, "body": string(body)})
		w.Write(answer)
	})
	r := client(t, address, withSecret(t, address))
	params := object{
		"url": "http://" + address + "/bot{token}/send?a=1", "headers": object{"X-Other": "{token}"},
		"body": json.RawMessage(`{"z": 1.50, "auth": {"user": "u"}, "text": "{token} KEY"}`),
		"secret": object{"header": object{"x-key": "KEY"}, "query": object{"sig": "KEY"}, "path": object{"token": "KEY"},
			"body": object{"auth.deep.key": "KEY", "top": "KEY"}},
	}
	call := mutation("post", params)
	if names := r.Secrets(call); len(names) != 1 || names[0] != "KEY" {
		t.Errorf("the call says that it carries %q", names)
	}
	out := r.Perform(t.Context(), call)
	if out.Status != connector.Applied {
		t.Fatalf("%+v", out.Failure)
	}
	if got.Header.Get("X-Key") != planted || got.Header.Get("X-Other") != "{token}" ||
		got.URL.Path != "/bot"+planted+"/send" || got.URL.Query().Get("sig") != planted || got.URL.Query().Get("a") != "1" {
		t.Errorf("it was sent as %s %v", got.RequestURI, got.Header)
	}
	want := `{"z":1.50,"auth":{"user":"u","deep":{"key":"pl/ant ed\"7"}},"text":"{token} KEY","top":"pl/ant ed\"7"}`
	if string(body) != want {
		t.Errorf("the body is\n%s, want\n%s", body, want)
	}
	if text := string(out.Result); strings.Contains(text, "pl/ant") || strings.Contains(text, "pl%2Fant") ||
		strings.Count(text, "***") < 4 {
		t.Errorf("the result shows the secret: %s", text)
	}
	raw, err := r.Read(t.Context(), mutation("get", object{"url": "http://" + address + "/x/{t}",
		"secret": object{"path": object{"t": "KEY"}, "header": object{"Authorization": "KEY"}}}))
	if err != nil || got.URL.Path != "/x/"+planted || got.Header.Get("Authorization") != planted {
		t.Errorf("%v: the read was sent as %s %v", err, got.RequestURI, got.Header)
	}
	if strings.Contains(string(raw), "pl/ant") || strings.Contains(string(raw), "pl%2Fant") {
		t.Errorf("the read's result shows the secret: %s", raw)
	}
}

// What is escaped in the path stays so beside a placeholder: the call goes to no other resource.
func TestNamedSecretsLeaveEscapesInThePath(t *testing.T) {
	t.Parallel()
	uri := ""
	_, address := server(t, func(_ http.ResponseWriter, r *http.Request) { uri = r.RequestURI })
	r := client(t, address, withSecret(t, address))
	out := r.Perform(t.Context(), mutation("post", object{"url": "http://" + address + "/projects/group%2Fapp%3Bx/{t}",
		"secret": object{"path": object{"t": "KEY"}}}))
	if out.Status != connector.Applied || uri != "/projects/group%2Fapp%3Bx/pl%2Fant%20ed%227" {
		t.Errorf("%+v: it was sent to %s", out.Failure, uri)
	}
}

// Of a secret with the name of a scheme before it, the part behind that is blanked too.
func TestNamedSecretsBehindASchemeAreBlanked(t *testing.T) {
	t.Parallel()
	_, address := server(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "token abc-planted") })
	r := client(t, address, func(c *httpcall.Config, _ *httpcall.HostConfig) {
		s, err := secret.Of([]string{"Bearer abc-planted"}, []string{address})
		if err != nil {
			t.Fatal(err)
		}
		c.Named = secret.NewSet(map[string]secret.Secret{"KEY": s})
	})
	raw, err := r.Read(t.Context(), mutation("get", object{"url": "http://" + address + "/"}))
	if err != nil || strings.Contains(string(raw), "planted") {
		t.Errorf("%v %s", err, raw)
	}
}

// What cannot be sent as the call says is a definite failure, and nothing has left.
func TestNamedSecretsThatAreNotSent(t *testing.T) {
	t.Parallel()
	_, address := server(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	_, other := server(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	r := client(t, address, func(c *httpcall.Config, h *httpcall.HostConfig) {
		withSecret(t, address)(c, h)
		h.Private, h.Headers = true, map[string]string{"X-Own": "1"}
		c.Hosts = map[string]httpcall.HostConfig{address: *h, other: {Private: true}, "open.example.com": {}}
	})
	at := "http://" + address + "/"
	for name, test := range map[string]struct {
		params object
		class  eventlog.Class
		code   string
	}{
		"another host": {object{"url": "http://" + other + "/", "secret": object{"header": object{"A": "KEY"}}},
			"logic", "secret.host"},
		"unknown": {object{"url": at, "secret": object{"header": object{"A": "NONE"}}},
			"logic", "secret.unknown"},
		"clear text": {object{"url": "http://open.example.com/", "secret": object{}},
			"permission", "http.insecure"},
		"configured": {object{"url": at, "secret": object{"header": object{"x-own": "KEY"}}},
			"logic", "http.header"},
		"twice": {object{"url": at, "headers": object{"a": "b"}, "secret": object{"header": object{"A": "KEY"}}},
			"logic", "http.header"},
		"Pawl's own": {object{"url": at, "secret": object{"header": object{"Idempotency-Key": "KEY"}}},
			"logic", "http.header"},
		"query twice": {object{"url": at + "?q=1", "secret": object{"query": object{"q": "KEY"}}},
			"logic", "call.params"},
		"no such place": {object{"url": at, "secret": object{"path": object{"t": "KEY"}}},
			"logic", "http.url"},
		"two places": {object{"url": at + "{t}/{t}", "secret": object{"path": object{"t": "KEY"}}},
			"logic", "http.url"},
		"in a query": {object{"url": at + "?a={t}", "secret": object{"path": object{"t": "KEY"}}},
			"logic", "http.url"},
		"text": {object{"url": at, "text": "x", "secret": object{"body": object{"a": "KEY"}}},
			"logic", "call.params"},
		"a list": {object{"url": at, "body": []int{1}, "secret": object{"body": object{"a": "KEY"}}},
			"logic", "call.params"},
		"a number": {object{"url": at, "body": object{"a": 1}, "secret": object{"body": object{"a.b": "KEY"}}},
			"logic", "call.params"},
		"has it": {object{"url": at, "body": object{"a": 1}, "secret": object{"body": object{"a": "KEY"}}},
			"logic", "call.params"},
		"no name": {object{"url": at, "body": object{}, "secret": object{"body": object{"a..b": "KEY"}}},
			"logic", "call.params"},
		"wrong place": {object{"url": at, "secret": object{"cookie": object{"a": "KEY"}}},
			"logic", "call.params"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := r.Perform(t.Context(), mutation("post", test.params))
			wantOutcome(t, out, connector.Failed, test.class, test.code)
			if strings.Contains(out.Failure.Message, planted) {
				t.Errorf("it shows the secret: %s", out.Failure.Message)
			}
		})
	}
}

// A read that carries a secret follows redirects to the same scheme, host and port alone, and takes its headers along.
func TestNamedSecretsDoNotFollowARedirectElsewhere(t *testing.T) {
	t.Parallel()
	_, other := server(t, func(http.ResponseWriter, *http.Request) { t.Error("it was followed") })
	var keys []string
	_, address := server(t, func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("X-Key"))
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "there", http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://"+other+"/", http.StatusFound)
		}
	})
	r := client(t, address, func(c *httpcall.Config, h *httpcall.HostConfig) {
		withSecret(t, address, other)(c, h)
		c.Hosts = map[string]httpcall.HostConfig{address: *h, other: {Private: true}}
	})
	get := func(path string) error {
		_, err := r.Read(t.Context(), mutation("get", object{"url": "http://" + address + path,
			"secret": object{"header": object{"X-Key": "KEY"}}}))
		return err
	}
	if err := get("/here"); err != nil {
		t.Fatal(err)
	}
	if len(keys) != 2 || keys[0] != planted || keys[1] != planted {
		t.Errorf("the two requests had the keys %q", keys)
	}
	if err := get("/away"); err == nil || failureOf(t, err).Code != "http.redirect" {
		t.Errorf("the redirect elsewhere: %v", err)
	}
}

// The question what became of a call is asked in the name of the call: its secret headers go along, nothing else.
func TestNamedSecretsAreForReconcileToo(t *testing.T) {
	t.Parallel()
	_, address := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != planted || strings.Contains(r.RequestURI, "pl") {
			t.Errorf("asked by %s with %q", r.RequestURI, r.Header.Get("X-Key"))
		}
	})
	r := client(t, address, func(c *httpcall.Config, h *httpcall.HostConfig) {
		withSecret(t, address)(c, h)
		h.Reconcile = &httpcall.ReconcileConfig{Get: "/calls?key={idempotencyKey}", Applied: httpcall.Rule{Status: 200}}
	})
	answer := r.Reconcile(t.Context(), mutation("post", object{"url": "http://" + address + "/{a}",
		"secret": object{"header": object{"X-Key": "KEY"}, "path": object{"a": "KEY"}, "query": object{"b": "KEY"}}}))
	if answer.Verdict != connector.VerdictApplied {
		t.Errorf("%+v", answer)
	}
	// A secret that has another name by now is named, and the question may be asked again.
	renamed := mutation("post", object{"url": "http://" + address + "/", "secret": object{"header": object{"X": "OLD"}}})
	if answer := r.Reconcile(t.Context(), renamed); !r.Reconciles(renamed) || answer.Verdict != connector.VerdictRetry ||
		answer.Failure.Code != "secret.unknown" {
		t.Errorf("%t %+v", r.Reconciles(renamed), answer)
	}
}

// A secret that could not be sent, or not be blanked out of answers, is refused at the start.
func TestNamedSecretsThatCannotBe(t *testing.T) {
	t.Parallel()
	for value, hosts := range map[string][]string{"long enough": {"https://api.example.com"}, "abc": {"api.example.com"}} {
		s, err := secret.Of([]string{value}, hosts)
		if err != nil {
			t.Fatal(err)
		}
		_, err = httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{"api.example.com": {}},
			Named: secret.NewSet(map[string]secret.Secret{"KEY": s})})
		if err == nil || !strings.Contains(err.Error(), "secrets.KEY") || strings.Contains(err.Error(), value) {
			t.Errorf("%d hosts, %d bytes: %v", len(hosts), len(value), err)
		}
	}
}
