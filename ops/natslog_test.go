package ops

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// overNATS offers the engine on a server that carries messages of this size.
func (b *bundle) overNATS(maxPayload int32) (*nats.Conn, *rpc.NATSService) {
	b.t.Helper()
	nc := natstest.Connect(b.t, natstest.NewServer(b.t, natstest.Fast, func(c *embeddednats.Config) {
		c.MaxPayload = maxPayload
	}))
	service, err := b.server.StartNATS(rpc.NATSConfig{Role: rpc.Admin, Conn: nc})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = service.Stop() })
	return nc, service
}

// askLog asks for a page of the log.
func askLog(t *testing.T, nc *nats.Conn, request string) transitionPage {
	t.Helper()
	answer := ask(t, nc, "pawl.api.readLog", request)
	var page transitionPage
	if err := json.Unmarshal(answer.Data, &page); err != nil || answer.Header.Get(rpc.StatusHeader) != "200" {
		t.Fatalf("%s: %v %s", request, answer.Header, answer.Data)
	}
	return page
}

// TestNATSLogPages: every page fits into a message, and together they are the log.
func TestNATSLogPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	large := strings.Repeat("x", 5<<10)
	for i := range 20 {
		b.do("pushEvents", map[string]any{"workflow": "shop", "topic": "order.sent", "events": map[string]any{
			"messageId": strconv.Itoa(i), "title": "One", "payload": large,
		}}, nil)
	}
	nc, _ := b.overNATS(32 << 10)
	var seqs []uint64
	pages := 0
	for from, last := "", false; !last; pages++ {
		page := askLog(t, nc, fmt.Sprintf(`{"from":%q}`, from))
		for _, item := range page.Items {
			seqs = append(seqs, item.Seq)
		}
		if last = page.Next == nil; !last {
			from = *page.Next
		}
	}
	for i, seq := range seqs {
		if seq != uint64(i+1) {
			t.Fatalf("sequences %v", seqs)
		}
	}
	if uint64(len(seqs)) != b.last() || pages < 4 {
		t.Errorf("%d transitions of %d in %d pages", len(seqs), b.last(), pages)
	}
	if page := askLog(t, nc, `{"limit":1}`); len(page.Items) != 1 || *page.Next != "0:2" {
		t.Errorf("limit 1: %+v", page)
	}
	for request, code := range map[string]string{
		`{"from":"x"}`: "position.invalid", `{"workflow":"nobody"}`: "workflow.unknown", `{"limit":0}`: "field.invalid",
	} {
		if answer := ask(t, nc, "pawl.api.readLog", request); mustJSON(t, answer.Data)["code"] != code {
			t.Errorf("%s: %s", request, answer.Data)
		}
	}
}

// TestNATSTooLarge: an answer beyond what a message carries is a problem that says so, not silence.
func TestNATSTooLarge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	const message = 16 << 10
	for i := range 3 {
		b.do("pushEvents", map[string]any{"workflow": "shop", "topic": "order.sent", "events": map[string]any{
			"messageId": strconv.Itoa(i), "title": "One", "payload": strings.Repeat("x", message/2),
		}}, nil)
	}
	at := b.last() + 1
	b.do("pushEvents", map[string]any{"workflow": "shop", "topic": "order.sent", "events": map[string]any{
		"messageId": "large", "title": "One", "payload": strings.Repeat("x", message),
	}}, nil)
	nc, _ := b.overNATS(message)
	for subject, c := range map[string]struct{ request, hint string }{
		"pawl.api.listEvents": {`{}`, "limit"},
		"pawl.api.readLog":    {fmt.Sprintf(`{"from":"%d"}`, at), fmt.Sprintf("from 0:%d", at+1)},
		"pawl.api.openapi":    {``, "over HTTP"},
	} {
		answer := ask(t, nc, subject, c.request)
		p := mustJSON(t, answer.Data)
		if answer.Header.Get(micro.ErrorCodeHeader) != "413" || p["code"] != "answer.tooLarge" ||
			!strings.Contains(p["hint"].(string), c.hint) {
			t.Errorf("%s: %v %.300s", subject, answer.Header, answer.Data)
		}
	}
	if answer := ask(t, nc, "pawl.api.listEvents", `{"limit":1}`); answer.Header.Get(rpc.StatusHeader) != "200" {
		t.Errorf("less of it: %v", answer.Header)
	}
	if page := askLog(t, nc, fmt.Sprintf(`{"from":"%d"}`, at+1)); len(page.Items) > 0 {
		t.Errorf("behind it: %+v", page)
	}
	// A refusal is said, however many problems it has.
	var calls strings.Builder
	for i := range 300 {
		fmt.Fprintf(&calls, "await ctx.none%d.list({});\n", i)
	}
	source := strings.Replace(orders("shop", "send"), "const [event]", calls.String()+"const [event]", 1)
	if refusal := b.refused("deployWorkflow", map[string]any{"source": source}); len(refusal.Document()) <= message {
		t.Fatalf("the problem document has only %d bytes", len(refusal.Document()))
	}
	script, err := json.Marshal(map[string]any{"source": source})
	if err != nil {
		t.Fatal(err)
	}
	if answer := ask(t, nc, "pawl.api.deployWorkflow",
		string(script)); answer.Header.Get(micro.ErrorCodeHeader) != "422" ||
		len(listOf(mustJSON(t, answer.Data)["problems"])) < 10 {
		t.Errorf("a refused script: %v %.300s", answer.Header, answer.Data)
	}
}

// TestNATSFollow: a client that follows by requests waits for what is not there yet, gets it once, and is
// let go when the service stops.
func TestNATSFollow(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config, _ *enginetest.Harness) { c.KeepAlive = time.Hour })
	b.deploy("shop", "send", eventlog.GrantAllow)
	nc, service := b.overNATS(0)
	page := askLog(t, nc, `{"follow":true}`)
	end := fmt.Sprintf("0:%d", b.last()+1)
	if uint64(len(page.Items)) != b.last() || *page.Next != end {
		t.Fatalf("what is there: %+v", page)
	}
	waiting := b.followPages(nc, end, "")
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	if page := waiting(); len(page.Items) != 1 || page.Items[0].Kind != "workflow.paused" ||
		*page.Next != fmt.Sprintf("0:%d", b.last()+1) {
		t.Errorf("the next one: %+v", page)
	}
	// No more of them than leave room for others.
	full := fill(b.server.followers)
	end = fmt.Sprintf("0:%d", b.last()+1)
	if answer := ask(t, nc, "pawl.api.readLog", fmt.Sprintf(`{"follow":true,"from":%q}`, end)); mustJSON(t,
		answer.Data)["code"] != "log.followers" {
		t.Errorf("too many: %s", answer.Data)
	}
	full()
	waiting = b.followPages(nc, end, "")
	for b.server.followers.Taken() == 0 { // until it waits
		if _, err := nc.RequestWithContext(await(t), "pawl.api.healthz", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := service.Stop(); err != nil {
		t.Fatal(err)
	}
	if page := waiting(); len(page.Items) != 0 || *page.Next != end {
		t.Errorf("at the end: %+v", page)
	}
}

// TestNATSWaitIsBounded: the follower of a silent log gets an empty page from time to time.
func TestNATSWaitIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config, _ *enginetest.Harness) { c.KeepAlive = time.Millisecond })
	b.deploy("shop", "send", eventlog.GrantAllow)
	nc, _ := b.overNATS(0)
	end := fmt.Sprintf("0:%d", b.last()+1)
	if page := askLog(t, nc, fmt.Sprintf(`{"follow":true,"from":%q}`, end)); len(page.Items) != 0 || page.Next == nil ||
		*page.Next != end {
		t.Errorf("%+v", page)
	}
	b.server.Close()
	if answer := ask(t, nc, "pawl.api.readLog", `{}`); mustJSON(t, answer.Data)["code"] != rpc.CodeStopping {
		t.Errorf("a server that stops: %s", answer.Data)
	}
}

// TestNATSFollowOneWorkflow: the follower of one workflow does not read again and again what others wrote.
func TestNATSFollowOneWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config, _ *enginetest.Harness) { c.KeepAlive = time.Millisecond })
	b.deploy("quiet", "send", eventlog.GrantAllow)
	b.deploy("busy", "send", eventlog.GrantAllow)
	b.engine.Rest("quiet")
	b.engine.Rest("busy")
	nc, _ := b.overNATS(0)
	end := fmt.Sprintf("0:%d", b.last()+1)
	page := askLog(t, nc, `{"follow":true,"workflow":"quiet"}`)
	if len(page.Items) == 0 {
		t.Error("nothing is there")
	}
	for limit := await(t); *page.Next != end; {
		if page = askLog(t, nc, fmt.Sprintf(`{"follow":true,"workflow":"quiet","from":%q}`,
			*page.Next)); len(page.Items) != 0 {
			t.Fatalf("not written: %+v", page)
		}
		if limit.Err() != nil {
			t.Fatalf("stuck at %s, the end is %s", *page.Next, end)
		}
	}
	b.do("pauseWorkflow", map[string]any{"workflow": "busy"}, nil)
	b.do("pauseWorkflow", map[string]any{"workflow": "quiet"}, nil)
	page = askLog(t, nc, fmt.Sprintf(`{"follow":true,"workflow":"quiet","from":%q}`, end))
	if len(page.Items) != 1 || page.Items[0].Workflow != "quiet" || page.Items[0].Kind != "workflow.paused" {
		t.Errorf("the next: %+v", page)
	}
	// Short pages leave nothing out.
	var seen []uint64
	for from := ""; ; {
		page := askLog(t, nc, fmt.Sprintf(`{"follow":true,"workflow":"quiet","limit":1,"from":%q}`, from))
		if len(page.Items) == 0 {
			break
		}
		from = *page.Next
		seen = append(seen, page.Items[0].Revision)
	}
	for i, revision := range seen {
		if revision != uint64(i+1) {
			t.Fatalf("revisions %v", seen)
		}
	}
	if page := askLog(t, nc, `{"workflow":"quiet"}`); len(page.Items) != len(seen) || page.Next != nil {
		t.Errorf("%d transitions by ones of %+v", len(seen), page)
	}
	// A client that begins beyond the end stays there.
	beyond := fmt.Sprintf("0:%d", b.last()+100)
	if page := askLog(t, nc, fmt.Sprintf(`{"follow":true,"workflow":"quiet","from":%q}`, beyond)); len(page.Items) != 0 ||
		*page.Next != beyond {
		t.Errorf("beyond the end: %+v", page)
	}
}

// followPages asks for a page of a workflow's log, and returns how to wait for it.
func (b *bundle) followPages(nc *nats.Conn, from, workflow string) func() transitionPage {
	b.t.Helper()
	inbox, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		b.t.Fatal(err)
	}
	request := fmt.Sprintf(`{"follow":true,"from":%q}`, from)
	if workflow != "" {
		request = fmt.Sprintf(`{"follow":true,"from":%q,"workflow":%q}`, from, workflow)
	}
	if err := nc.PublishRequest("pawl.api.readLog", inbox.Subject, []byte(request)); err != nil {
		b.t.Fatal(err)
	}
	return func() transitionPage {
		b.t.Helper()
		answer, err := inbox.NextMsgWithContext(await(b.t))
		if err != nil {
			b.t.Fatal(err)
		}
		var page transitionPage
		if err := json.Unmarshal(answer.Data, &page); err != nil || page.Next == nil {
			b.t.Fatalf("%v %s", err, answer.Data)
		}
		return page
	}
}

// TestNATSStopAnswersTheQueue: a service that stops begins nothing any more, and answers those that wait.
func TestNATSStopAnswersTheQueue(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config, _ *enginetest.Harness) { c.KeepAlive = time.Hour })
	b.deploy("shop", "send", eventlog.GrantAllow)
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	service, err := b.server.StartNATS(rpc.NATSConfig{Role: rpc.Admin, Conn: nc, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	inbox, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	publish := func(id, request string) {
		t.Helper()
		if err := nc.PublishRequest("pawl.api."+id, inbox.Subject, []byte(request)); err != nil {
			t.Fatal(err)
		}
	}
	publish("readLog", fmt.Sprintf(`{"follow":true,"from":"0:%d"}`, b.last()+1))
	for b.server.followers.Taken() == 0 {
		runtime.Gosched() // until it waits, and holds the only place
	}
	queued := []string{"pauseWorkflow", "resumeWorkflow", "archiveWorkflow", "getWorkflow", "listRuns", "healthz"}
	before := b.last()
	for _, id := range queued {
		publish(id, `{"workflow":"shop"}`)
	}
	if err := nc.FlushWithContext(await(t)); err != nil { // then the client has them all
		t.Fatal(err)
	}
	if err := service.Stop(); err != nil {
		t.Fatal(err)
	}
	stopped := 0
	for range len(queued) + 1 {
		answer, err := inbox.NextMsgWithContext(await(t))
		if err != nil {
			t.Fatal(err)
		}
		if answer.Header.Get(micro.ErrorCodeHeader) == "503" && mustJSON(t, answer.Data)["code"] == rpc.CodeStopping {
			stopped++
		}
	}
	if stopped != len(queued) || b.last() != before {
		t.Errorf("%d of %d are told that the engine stops; transitions %d, then %d", stopped, len(queued), before, b.last())
	}
}
