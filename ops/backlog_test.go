package ops

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/micro"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// A push that passes policies.backlog is 429 with a way on, over HTTP and NATS alike, and writes
// nothing. What is known already is always taken.
func TestAFullBacklogRefusesPushes(t *testing.T) {
	t.Parallel()
	b := setup(t, func(_ *Config, bench *enginetest.Harness) {
		bench.Config.Policies = schedule.Default()
		bench.Config.Policies.Backlog.Events = 3
	})
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	service, err := b.server.StartNATS(rpc.NATSConfig{Role: rpc.Admin, Conn: nc})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.Stop() }()
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	const path, subject = "/v1/workflows/shop/topics/order.in/events", "pawl.in.shop.order.in"
	push := func(body string) (status, document string) {
		t.Helper()
		res, text := b.request("POST", path, body)
		if res.StatusCode == 429 && res.Header.Get("Retry-After") == "" {
			t.Error("429 without Retry-After")
		}
		return res.Status[:3], string(text)
	}
	if status, text := push(`[{"messageId":"a","title":"A"},{"messageId":"b","title":"B"}]`); status != "200" {
		t.Fatalf("%s %s", status, text)
	}
	before := b.last()
	const two = `[{"messageId":"c","title":"C"},{"messageId":"d","title":"D"}]`
	status, text := push(two)
	answer := ask(t, nc, subject, two)
	for name, got := range map[string][2]string{"HTTP": {status, text}, "NATS": {answer.Header.Get(micro.ErrorCodeHeader),
		string(answer.Data)}} {
		p := mustJSON(t, []byte(got[1]))
		detail, hint := p["detail"].(string), p["hint"].(string)
		if got[0] != "429" || p["code"] != "backlog.full" ||
			!strings.Contains(detail, "2 events are pending in workflow shop") ||
			!strings.Contains(detail, "policies.backlog.events") || !strings.Contains(hint, "pawl why shop") {
			t.Errorf("%s: %s %s", name, got[0], got[1])
		}
	}
	if after := b.last(); after != before {
		t.Errorf("refused pushes moved the log from %d to %d", before, after)
	}
	if status, text := push(`{"messageId":"c","title":"C"}`); status != "200" {
		t.Errorf("the last that fits: %s %s", status, text)
	}
	if status, text := push(`[{"messageId":"c","title":"C2"},{"messageId":"a","title":"A"}]`); status != "200" ||
		strings.Count(text, "updated") != 2 {
		t.Errorf("known events: %s %s", status, text)
	}
}
