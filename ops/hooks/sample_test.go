package hooks

import (
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// Operators see where senders post to and what keeps a hook from verifying; a sample is as good as a sender's, and
// shows no token.
func TestSamples(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s, _ := w.engine.State("inbox")
	states := map[eventlog.HookName]Readiness{}
	for _, v := range w.Views(&s, "http://127.0.0.1:7070") {
		states[v.Name] = v.State
		if v.URL != "https://pawl.example.com/hooks/inbox/"+string(v.Name) {
			t.Errorf("%s is at %s", v.Name, v.URL)
		}
	}
	if len(states) != 11 || states["miswritten"] != SecretUnusable ||
		states["other"] != SecretNotGranted || states["github"] != Ready || states["open"] != Ready {
		t.Errorf("%v", states)
	}
	for _, h := range w.Refusing(&s) {
		granting := strings.HasPrefix(h.Grant, "pawl grants inbox secret.")
		if state := states[h.Name]; state == Ready || (state == SecretNotGranted) != granting {
			t.Errorf("%s refuses every request: %+v", states[h.Name], h)
		}
		delete(states, h.Name)
	}
	if states["other"] != "" {
		t.Error("a hook that refuses every request is not named")
	}
	before := w.last()
	for _, v := range w.Views(&s, "") {
		sample, err := w.Sample(t.Context(), SampleRequest{Workflow: "inbox", Hook: v.Name, Send: true})
		if v.Name == "miswritten" {
			var p *rpc.Problem
			if !errors.As(err, &p) || p.Code != codeUnready || !strings.Contains(p.Detail, "the secret MISWRITTEN") {
				t.Errorf("%s: %v", v.Name, err)
			}
			continue
		}
		if v.Name == "other" {
			var p *rpc.Problem
			if !errors.As(err, &p) || p.Code != codeUnready || !strings.Contains(p.Hint, "secret.NOTGRANTED=allow") {
				t.Errorf("%s: %v", v.Name, err)
			}
			continue
		}
		if err != nil || sample.Sent == nil || sample.Sent.Status/100 != 2 || sample.Sent.MessageID == nil {
			t.Errorf("%s: %+v %+v %v", v.Name, sample, sample.Sent, err)
		}
		if want := `hooks/inbox/token?key=$S" \`; v.Name == "token" && (sample.Variable != "S" ||
			!strings.Contains(sample.Curl, want)) || v.Name != "token" && sample.Variable != "" {
			t.Errorf("%s: the command takes %q from the environment: %s", v.Name, sample.Variable, sample.Curl)
		}
		if strings.Contains(sample.Curl, planted) || strings.Contains(sample.Curl, "YW5vdGhlcg") {
			t.Errorf("%s: the secret is in %s", v.Name, sample.Curl)
		}
	}
	if w.last() != before+9 {
		t.Errorf("the log went from %d to %d", before, w.last())
	}
	if sample, err := w.Sample(t.Context(), SampleRequest{Workflow: "inbox", Hook: "stripe"}); err != nil ||
		sample.Sent != nil || w.last() != before+9 || !strings.Contains(sample.Curl, "Stripe-Signature: t=") {
		t.Errorf("only made: %+v %v", sample, err)
	}
	var p *rpc.Problem
	if _, err := w.Sample(t.Context(), SampleRequest{Workflow: "inbox", Hook: "none"}); !errors.As(err, &p) ||
		p.Code != CodeUnknown {
		t.Errorf("no such hook: %v", err)
	}
	w.neverShown()
}
