package ops

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

func ask(t *testing.T, nc *nats.Conn, subject, body string, headers ...string) *nats.Msg {
	t.Helper()
	msg := &nats.Msg{Subject: subject, Data: []byte(body), Header: nats.Header{}}
	for i := 0; i < len(headers); i += 2 {
		msg.Header.Set(headers[i], headers[i+1])
	}
	answer, err := nc.RequestMsg(msg, 20*time.Second)
	if err != nil {
		t.Fatalf("ask %s: %v", subject, err)
	}
	return answer
}

// TestNATS: the same operations by request, with the same answers and problems.
func TestNATS(t *testing.T) {
	t.Parallel()
	b := setup(t)
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	service, err := b.server.StartNATS(rpc.NATSConfig{Role: rpc.Admin, Conn: nc})
	if err != nil {
		t.Fatal(err)
	}
	source, err := json.Marshal(map[string]any{"source": orders("shop", "send"),
		"grants": map[string]string{"*": "allow"}})
	if err != nil {
		t.Fatal(err)
	}
	deployed := ask(t, nc, "pawl.api.deployWorkflow", string(source), rpc.ActorHeader, "nina")
	if deployed.Header.Get(rpc.StatusHeader) != "201" || mustJSON(t, deployed.Data)["name"] != "shop" {
		t.Fatalf("deploy: %v %s", deployed.Header, deployed.Data)
	}
	checkActorOf(t, b, "workflow.deployed", eventlog.Actor{Kind: "user", Name: "nina"})
	b.engine.Rest("shop")

	one := ask(t, nc, "pawl.in.shop.order.in", `{"messageId":"a","title":"A"}`)
	if got := string(one.Data); !strings.Contains(got, `"messageId":"a","result":"created"`) {
		t.Errorf("push of one: %s", got)
	}
	two := ask(t, nc, "pawl.in.shop.order.in", `[{"messageId":"a","title":"A"},{"messageId":"b","title":"B"}]`)
	if got := string(two.Data); !strings.HasPrefix(got, `[{"messageId":"a","result":"updated"`) {
		t.Errorf("push of two: %s", got)
	}
	b.engine.Rest("shop")
	over := ask(t, nc, "pawl.api.listWorkflowRuns", `{"workflow":"shop","limit":2,"order":"desc"}`)
	_, http := b.request("GET", "/v1/workflows/shop/runs?limit=2&order=desc", "")
	if string(over.Data) != string(http) {
		t.Errorf("over NATS %s\nover HTTP %s", over.Data, http)
	}
	var all readmodel.Page[readmodel.Workflow]
	if err := json.Unmarshal(ask(t, nc, "pawl.api.listWorkflows", "").Data, &all); err != nil || len(all.Items) != 1 {
		t.Errorf("an empty request: %v %+v", err, all)
	}

	before := b.last()
	for subject, c := range map[string]struct{ body, status, code string }{
		"pawl.api.getWorkflow":     {`{"workflow":"nobody"}`, "404", "workflow.unknown"},
		"pawl.api.pauseWorkflow":   {`{}`, "400", "field.missing"},
		"pawl.api.resumeWorkflow":  {`{"workflow":"shop","hard":true}`, "400", "field.unknown"},
		"pawl.api.getDiagnostics":  {`[1]`, "400", "json.invalid"},
		"pawl.api.deployWorkflow":  {`{"source":"export default 1"}`, "422", "script.refused"},
		"pawl.api.archiveWorkflow": {`{"workflow":7}`, "400", "field.invalid"},
		"pawl.in.shop.none":        {`{"messageId":"x","title":"X"}`, "404", "topic.unknown"},
		"pawl.in.nobody.order.in":  {`{"messageId":"x","title":"X"}`, "404", "workflow.unknown"},
		"pawl.in.shop.order.in":    {`{`, "400", "json.invalid"},
	} {
		answer := ask(t, nc, subject, c.body)
		if answer.Header.Get(micro.ErrorCodeHeader) != c.status || mustJSON(t, answer.Data)["code"] != c.code {
			t.Errorf("%s: %v %s", subject, answer.Header, answer.Data)
		}
	}
	if answer := ask(t, nc, "pawl.api.pauseWorkflow", `{"workflow":"shop"}`, rpc.ActorHeader,
		strings.Repeat("x", 200)); answer.Header.Get(micro.ErrorCodeHeader) != "400" {
		t.Errorf("a long name: %v", answer.Header)
	}
	if after := b.last(); after != before {
		t.Errorf("refused requests moved the log from %d to %d", before, after)
	}

	var info micro.Info
	if err := json.Unmarshal(ask(t, nc, "$SRV.INFO.pawl", "").Data, &info); err != nil {
		t.Fatal(err)
	}
	offered := map[string]string{}
	for _, e := range info.Endpoints {
		offered[e.Name] = e.Subject
	}
	for _, o := range Operations() {
		if want := "pawl.api." + o.ID; offered[o.ID] != want {
			t.Errorf("operation %s is offered at %q", o.ID, offered[o.ID])
		}
	}
	if info.Version != "1.2.3" || offered["ingress"] != "pawl.in.*.>" || offered["metrics"] != "" {
		t.Errorf("info: %+v", info)
	}

	// What stands beside the table is what HTTP answers.
	for id, path := range map[string]string{"openapi": "/v1/openapi.json", "healthz": "/healthz", "readyz": "/readyz"} {
		over := ask(t, nc, "pawl.api."+id, "")
		_, http := b.request("GET", path, "")
		if len(http) == 0 || string(over.Data) != string(http) || over.Header.Get(rpc.StatusHeader) != "200" ||
			offered[id] != "pawl.api."+id {
			t.Errorf("%s over NATS: %v %.200s", id, over.Header, over.Data)
		}
	}

	// Requests are answered side by side: more of them than one after the other would allow.
	inbox := nc.NewInbox()
	answers, err := nc.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if err := nc.PublishRequest("pawl.in.shop.order.sent", inbox, fmt.Appendf(nil, `{"messageId":"n%d","title":"N"}`,
			i)); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		answer, err := answers.NextMsgWithContext(await(t))
		if err != nil || answer.Header.Get(micro.ErrorCodeHeader) != "" {
			t.Fatalf("%v %+v", err, answer)
		}
	}
	// The caller chooses where the answer goes: to an inbox, or nothing is done at all.
	before = b.last()
	elsewhere, err := nc.SubscribeSync("elsewhere.>")
	if err != nil {
		t.Fatal(err)
	}
	for i, reply := range []string{"elsewhere.a", "elsewhere._INBOX.a"} {
		if err := nc.PublishRequest("pawl.in.shop.order.sent", reply, fmt.Appendf(nil, `{"messageId":"evil%d","title":"E"}`,
			i)); err != nil {
			t.Fatal(err)
		}
	}
	ask(t, nc, "pawl.in.shop.order.none", `{}`) // the same subscription: it comes after
	if err := service.Stop(); err != nil {      // which waits for what is under way
		t.Errorf("stop: %v", err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, _, err := elsewhere.Pending(); got != 0 || err != nil || b.last() != before {
		t.Errorf("%d answers elsewhere (%v), the log went from %v to %v", got, err, before, b.last())
	}
	if _, err := nc.Request("pawl.api.listWorkflows", nil, 20*time.Second); err != nats.ErrNoResponders {
		t.Errorf("after stop: %v", err)
	}
}

// Over NATS a token identifies the caller; without one the user of the NATS server has its role, or none.
func TestNATSTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	for _, c := range []struct {
		role          rpc.Role
		token         string
		reads, grants string // the problem's code, or empty
	}{
		{rpc.Operator, "", "", "role.insufficient"},
		{rpc.Operator, b.server.cfg.Token, "", ""},
		{rpc.Operator, "pawl_WRONG", "token.required", "token.required"},
		{"", "", "token.required", "token.required"},
		{"", b.server.cfg.Token, "", ""},
		{rpc.Viewer, "", "", "role.insufficient"},
	} {
		nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
		service, err := b.server.StartNATS(rpc.NATSConfig{Conn: nc, Role: c.role})
		if err != nil {
			t.Fatal(err)
		}
		for subject, want := range map[string]string{"pawl.api.getWorkflow": c.reads, "pawl.api.setGrants": c.grants} {
			body := map[bool]string{true: `{"workflow":"shop"}`,
				false: `{"workflow":"shop","grants":{"*":"allow"}}`}[subject == "pawl.api.getWorkflow"]
			answer := ask(t, nc, subject, body, rpc.TokenHeader, c.token, rpc.ActorHeader, "nina")
			if code, _ := mustJSON(t, answer.Data)["code"].(string); code != want {
				t.Errorf("role %q, token %q, %s: %s %.200s, want %q", c.role, c.token, subject, code, answer.Data, want)
			}
		}
		if err := service.Stop(); err != nil {
			t.Error(err)
		}
	}
}
