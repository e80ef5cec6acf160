package httpcall_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/eventlog"
)

// What was filled into the configuration from outside is blanked out wherever it comes back, whatever the
// name of the setting is, and in the forms that answers repeat it in.
func TestSecretsAreBlankedByWhereTheyCameFrom(t *testing.T) {
	const secret = `p/w "ö"+<s3cret>`
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	_, address := server(t, func(w http.ResponseWriter, r *http.Request) {
		got := r.Header.Get("X-Tenant") + "|" + r.URL.Query().Get("t")
		if !strings.Contains(got, secret) {
			t.Errorf("the host did not get the secret: %q", got)
		}
		w.Header().Set("X-Request-Id", r.Header.Get("X-Tenant"))
		if strings.HasPrefix(r.URL.Path, "/bad") {
			w.WriteHeader(400)
		}
		fmt.Fprintf(w, "raw %s query %s path %s lower %s json %s base64 %s basic %s", secret, url.QueryEscape(secret),
			url.PathEscape(secret),
			strings.ToLower(url.QueryEscape(secret)), quoted, base64.StdEncoding.EncodeToString([]byte(secret)),
			base64.StdEncoding.EncodeToString([]byte("user:"+secret+":more")))
	})
	r := client(t, address, func(c *httpcall.Config, h *httpcall.HostConfig) {
		c.Secrets = []string{secret}
		h.Headers = map[string]string{"X-Tenant": "tenant " + secret}
		h.Reconcile = &httpcall.ReconcileConfig{Get: "/bad/" + url.PathEscape(secret) + "?t=" +
			url.QueryEscape(secret) + "&key={idempotencyKey}", Applied: httpcall.Rule{Status: 200}}
	})
	wantNone := func(where, text string) {
		t.Helper()
		if !strings.Contains(text, "***") {
			t.Errorf("%s: nothing was blanked out: %s", where, text)
		}
		for _, trace := range []string{"s3cret", "cDN3", base64.StdEncoding.EncodeToString([]byte(secret))[:12],
			"%3Cs3", "%3cs3"} {
			if strings.Contains(text, trace) {
				t.Errorf("%s shows %q: %s", where, trace, text)
			}
		}
		for offset := range 3 {
			inside := base64.StdEncoding.EncodeToString([]byte("user"[:offset] + secret))[4:16]
			if strings.Contains(text, inside) {
				t.Errorf("%s shows a part of it in base64, %q: %s", where, inside, text)
			}
		}
	}
	raw, err := r.Read(t.Context(), mutation("get", map[string]any{"url": "http://" + address + "/"}))
	if err != nil {
		t.Fatal(err)
	}
	wantNone("the result", string(raw))
	if result := decode(t, raw); result.Headers["x-request-id"] != "tenant ***" {
		t.Errorf("the header is %q", result.Headers["x-request-id"])
	}
	_, err = r.Read(t.Context(), mutation("get", map[string]any{"url": "http://" + address + "/bad"}))
	wantNone("the error", failureOf(t, err).Message)
	out := r.Perform(t.Context(), mutation("post", map[string]any{"url": "http://" + address + "/bad"}))
	wantOutcome(t, out, connector.Failed, eventlog.Logic, "http.status")
	wantNone("the failure", out.Failure.Message)
	wantNone("the reconcile", r.Reconcile(t.Context(),
		mutation("post", map[string]any{"url": "http://" + address + "/"})).Failure.Message)
}

// Blanking out never makes an outcome less certain: an answer that was JSON stays a result.
func TestABlankedAnswerIsStillAResult(t *testing.T) {
	_, address := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":7, "account": 12345678}`)
	})
	r := client(t, address, func(c *httpcall.Config, _ *httpcall.HostConfig) { c.Secrets = []string{"12345678"} })
	out := r.Perform(t.Context(), mutation("post", map[string]any{"url": "http://" + address + "/"}))
	wantOutcome(t, out, connector.Applied, "", "")
	if got := decode(t, out.Result).Body; string(got) != `"{\"id\":7, \"account\": ***}"` {
		t.Errorf("body = %s", got)
	}
}
