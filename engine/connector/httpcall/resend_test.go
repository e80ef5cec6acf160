package httpcall_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/eventlog"
)

var promised = httpcall.ReconcileConfig{Resend: true, Within: time.Hour, Failed: httpcall.Rule{Status: 404}}

// An answer to a call that was sent again says what became of the call only if it is 2xx, or the one that is listed. A
// script's own expectations say nothing of that, and neither does the failure of a request that did not leave.
func TestAnswersToACallThatIsSentAgain(t *testing.T) {
	t.Parallel()
	var status, requests atomic.Int32
	_, address := server(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Retry-After", "20")
		if status.Load() == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, `{"key":"`+r.Header.Get("Pawl-Run")+`"}`)
	})
	r := client(t, address, func(_ *httpcall.Config, h *httpcall.HostConfig) { h.Reconcile = &promised })
	call := mutation("post", object{"url": "http://" + address + "/orders", "body": 1, "expect": []int{409}})
	call.Resend = true
	if !r.Reconciles(call) || r.Resends(call) != time.Hour {
		t.Errorf("it reconciles: %v, for %s", r.Reconciles(call), r.Resends(call))
	}
	for _, c := range []struct {
		status   int
		want     connector.Status
		answered bool
	}{
		{200, connector.Applied, false}, {201, connector.Applied, false}, {404, connector.Failed, false},
		{400, connector.Uncertain, true}, {401, connector.Uncertain, true}, {409, connector.Uncertain, true},
		{422, connector.Uncertain, true}, {429, connector.Uncertain, true}, {500, connector.Uncertain, true},
		{302, connector.Uncertain, true}, {408, connector.Uncertain, false}, {502, connector.Uncertain, false},
		{503, connector.Uncertain, false},
		{0, connector.Uncertain, false},
	} {
		status.Store(int32(c.status))
		requests.Store(0)
		out := r.Perform(t.Context(), call)
		if out.Status != c.want || out.Answered != c.answered || requests.Load() != 1 {
			t.Errorf("%d: %+v (%v), %d requests", c.status, out, out.Failure, requests.Load())
		}
		if wish := c.status == 429 || c.status == 503; out.Failure != nil && wish != (out.Failure.RetryAfter > 0) {
			t.Errorf("%d: it is left alone for %s (F13)", c.status, out.Failure.RetryAfter)
		}
		if c.want == connector.Failed && out.Failure.Code != connector.CodeNotApplied {
			t.Errorf("%d: %+v", c.status, out.Failure)
		}
	}

	call.Gate = func() *eventlog.Failure { return connector.Failf(eventlog.Transient, "mutation.neverSent", "no") }
	requests.Store(0)
	if out := r.Perform(t.Context(), call); out.Status == connector.Applied || requests.Load() != 0 ||
		out.Failure.Code == connector.CodeNotApplied {
		t.Errorf("not let out: %+v, %d requests", out, requests.Load())
	}
	call.Gate = nil
	call.Params = []byte(`{"url": "http://127.0.0.1:1/"}`)
	if out := r.Perform(t.Context(), call); out.Status == connector.Applied ||
		out.Failure.Code == connector.CodeNotApplied {
		t.Errorf("a host that is not configured: %+v", out)
	}
	// What could not be asked when it was made is not sent again because of a later configuration.
	if found := r.Reconcile(t.Context(), mutation("post", object{"url": "http://" + address + "/"})); found.Verdict !=
		connector.VerdictRetry || requests.Load() != 0 {
		t.Errorf("%+v, %d requests", found, requests.Load())
	}
}

// A promise that is none, or that leaves open what proves what, is refused at the start.
func TestPromisesThatAreRefused(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	rule := func(status int) httpcall.Rule { return httpcall.Rule{Status: status} }
	for name, c := range map[string]struct {
		config httpcall.ReconcileConfig
		key    string
	}{
		"a get beside it":       {httpcall.ReconcileConfig{Resend: true, Within: day, Get: "/?k={idempotencyKey}"}, ".get"},
		"applied beside it":     {httpcall.ReconcileConfig{Resend: true, Within: day, Applied: rule(200)}, ".applied"},
		"no within":             {httpcall.ReconcileConfig{Resend: true}, ""},
		"a short within":        {httpcall.ReconcileConfig{Resend: true, Within: 299 * time.Second}, ".within"},
		"a negative within":     {httpcall.ReconcileConfig{Resend: true, Within: -time.Hour}, ".within"},
		"failed by a proxy":     {httpcall.ReconcileConfig{Resend: true, Within: day, Failed: rule(502)}, ".failed.status"},
		"failed by 429":         {httpcall.ReconcileConfig{Resend: true, Within: day, Failed: rule(429)}, ".failed.status"},
		"failed by 2xx":         {httpcall.ReconcileConfig{Resend: true, Within: day, Failed: rule(204)}, ".failed.status"},
		"within without it":     {httpcall.ReconcileConfig{Within: day, Get: "/?k={idempotencyKey}"}, ".within"},
		"failed, and no within": {httpcall.ReconcileConfig{Resend: true, Failed: rule(404)}, ""},
	} {
		_, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{"a.example": {Reconcile: &c.config}}})
		var setting *connector.SettingError
		if !errors.As(err, &setting) || setting.Key != "connectors.http.hosts.a.example.reconcile"+c.key ||
			!strings.Contains(err.Error(), "reconcile: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, status := range []int{0, 404, 409, 422} {
		config := httpcall.ReconcileConfig{Resend: true, Within: 5 * time.Minute, Failed: rule(status)}
		c, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{"a.example": {Reconcile: &config}}})
		if err != nil {
			t.Errorf("%d: %v", status, err)
			continue
		}
		_ = c.Close()
	}
}
