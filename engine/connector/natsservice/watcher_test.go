package natsservice_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/natsservice"
	"github.com/pawl-run/pawl/eventlog"
)

func TestWhatAServiceOffers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const schema = `{"type":"object","required":["to"]}`
	startTool(t, toolSpec{URL: w.userURL("engine"), Name: "mail", Endpoints: []endpointSpec{
		mutation("send", "pawl.reconcile", "sent", "pawl.timeout", "7s", "pawl.schema", schema, "pawl.summary",
			"Send a mail"),
		described("sent", "reconcile"), described("search", "list"), described("get", "get"),
		{Name: "health", Subject: "mail.health"}, // its own business
		mutation("lost", "pawl.reconcile", "nowhere"),
		mutation("wrong", "pawl.reconcile", "get"),
		described("odd", "search"), described("slow", "get", "pawl.timeout", "soon"),
		described("bent", "get", "pawl.schema", "{"),
		described("keyed", "list", "pawl.reconcile", "sent"),
		{Name: "two", NoQueue: true, Meta: map[string]string{"pawl.kind": "mutate"}},
		{Name: "far", Subject: "elsewhere.far", Meta: map[string]string{"pawl.kind": "get"}},
	}})
	w.await("mail.send")
	c, ok := w.registry.Connector("mail")
	if !ok {
		t.Fatal("no connector")
	}
	var got []string
	for _, op := range c.Operations() {
		got = append(got, fmt.Sprintf("%s %s %t %s %s %s", op.Name, op.Kind, op.Reconciles, op.Timeout, op.Schema,
			op.Summary))
	}
	want := []string{"get get false 0s  ", "search list false 0s  ", "send mutate true 7s " + schema + " Send a mail"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("offers\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for endpoint, part := range map[string]string{
		"lost": `names "nowhere"`, "wrong": `names "get"`, "odd": `"search", want list`,
		"slow": `"soon", want a duration`,
		"bent": "pawl.schema is unusable", "keyed": "only a mutation", "far": "add it to the group pawl.tool.mail",
	} {
		if r, ok := w.refusal("mail", endpoint); !ok || !strings.Contains(r.Reason, part) {
			t.Errorf("%s: refused %t, %s", endpoint, ok, r.Reason)
		}
	}
	if r, ok := w.refusal("mail", "two"); !ok || !strings.Contains(r.Reason, "without a queue group") {
		t.Errorf("two: refused %t, %s", ok, r.Reason)
	}
	if _, ok := w.refusal("mail", "health"); ok {
		t.Error("an endpoint of another purpose is talked about")
	}

	// What scripts may not call, what does not fit, and what reconciling asks.
	if out := w.perform(call("mail.sent", "K", soon, wish{})); out.Status != connector.Failed ||
		out.Failure.Code != connector.CodeUnknown {
		t.Errorf("a reconcile endpoint was called: %+v", out)
	}
	if out := w.perform(call("mail.send", "K", soon, map[string]int{"x": 1})); out.Status != connector.Failed ||
		out.Failure.Code != connector.CodeParams {
		t.Errorf("parameters without `to`: %+v", out)
	}
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mail := w.start("mail", mutation("send", "pawl.reconcile", "sent", "pawl.timeout", "1s", "pawl.result",
		`{"type":"object"}`), described("sent", "reconcile"))
	w.await("mail.send")
	c := call("mail.send", "K1", soon, map[string]any{"n": 1})
	// The tool does what the question itself says; its parameters are one level down, so this
	// answers with the default, which is no verdict.
	answer := w.registry.Reconcile(t.Context(), c)
	if answer.Verdict != connector.VerdictRetry || answer.Failure == nil ||
		answer.Failure.Code != natsservice.CodeReconcile {
		t.Errorf("no status: %+v", answer)
	}
	asked := mail.seen()
	var q struct {
		Params         json.RawMessage
		IdempotencyKey string
		StartedAt      time.Time
	}
	if err := json.Unmarshal([]byte(asked.Data), &q); err != nil || string(q.Params) != `{"n":1}` ||
		q.IdempotencyKey != "K1" || !q.StartedAt.Equal(c.StartedAt.Round(0)) {
		t.Errorf("asked %+v: %v", asked, err)
	}
	if asked.Op != "sent" || nats.Header(asked.Header).Get("Idempotency-Key") != "" {
		t.Errorf("asked %+v", asked)
	}
	mail.kill()
	// The server notices the death a moment later; a question may still go to the dead until then.
	for range 10 {
		answer = w.registry.Reconcile(t.Context(), c)
		if answer.Verdict != connector.VerdictRetry || answer.Failure.Code != connector.CodeTimeout {
			break
		}
	}
	if answer.Verdict != connector.VerdictRetry || answer.Failure.Code != natsservice.CodeAbsent {
		t.Errorf("without a service: %+v", answer)
	}
}

func TestASubjectSharedByTwoServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("mail", mutation("send"), mutation("drop"), described("get", "get"))
	w.await("mail.send", "mail.drop", "mail.get")
	thief := w.start("other", mutation("own"),
		endpointSpec{Name: "send", Subject: "pawl.tool.mail.send", Meta: map[string]string{"pawl.kind": "mutate"}},
		endpointSpec{Name: "any", Subject: "pawl.tool.*.drop"})
	w.refresh()
	for _, full := range []string{"mail.send", "mail.drop", "other.send"} {
		name, operation, _ := strings.Cut(full, ".")
		if w.has(name, operation) {
			t.Errorf("%s is offered", full)
		}
		if r, ok := w.refusal(name, operation); !ok || !r.Loud || !strings.Contains(r.Reason, "also served by") {
			t.Errorf("%s: refused %t, %+v", full, ok, r)
		}
	}
	if !w.has("mail", "get") || !w.has("other", "own") {
		t.Error("what is not shared is refused too")
	}
	if !w.logged.has("level=ERROR") {
		t.Error("no error is logged")
	}
	thief.kill()
	w.refresh()
	if !w.has("mail", "send") || !w.has("mail", "drop") || len(w.watcher.Refused()) != 0 {
		t.Errorf("still refused: %v", w.watcher.Refused())
	}
}

func TestAToolThatChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.start("mail", mutation("send", "pawl.schema", `{"required":["to"]}`), described("get", "get"))
	w.await("mail.send")
	ok := call("mail.send", "K1", soon, map[string]string{"to": "a"})
	wantOutcome(t, w.perform(ok), connector.Applied, "", "")

	// Started beside the old one: it is not known which of the two would get a request.
	next := w.start("mail", mutation("send", "pawl.schema", `{"required":["address"]}`), described("get", "get"))
	w.refresh()
	if r, refused := w.refusal("mail", "send"); !refused || w.has("mail", "send") || !strings.Contains(r.Reason,
		"do not agree on pawl.schema") {
		t.Errorf("refused %t: %s", refused, r.Reason)
	}
	if !w.has("mail", "get") {
		t.Error("what they agree on is refused too")
	}
	old.kill()
	w.refresh()
	wantOutcome(t, w.perform(ok), connector.Failed, eventlog.Logic, connector.CodeParams)
	wantOutcome(t, w.perform(call("mail.send", "K2", soon, map[string]string{"address": "a"})), connector.Applied, "",
		"")
	if key := nats.Header(next.seen().Header).Get("Idempotency-Key"); key != "K2" {
		t.Errorf("the new one got %s", key)
	}
	// Its kind changes: the operation says so, and the engine compares it with what was pinned.
	next.kill()
	w.start("mail", described("send", "get"))
	w.refresh()
	if op, _ := w.registry.Operation("mail", "send"); op.Kind != connector.Get {
		t.Errorf("kind %s", op.Kind)
	}
}

func TestTwoInstancesShareTheWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.start("mail", mutation("send")), w.start("mail", mutation("send"))
	w.await("mail.send")
	const calls = 60
	for i := range calls {
		wantOutcome(t, w.perform(call("mail.send", fmt.Sprint("K", i), soon, wish{})), connector.Applied, "", "")
	}
	seenBy := make(map[string]int)
	counts := []int{0, 0}
	for i, x := range []*tool{one, two} {
		x.drain(func(s seen) {
			seenBy[nats.Header(s.Header).Get("Idempotency-Key")]++
			counts[i]++
		})
	}
	if len(seenBy) != calls || counts[0]+counts[1] != calls {
		t.Errorf("%d calls, %d keys seen, %v requests", calls, len(seenBy), counts)
	}
	if counts[0] == 0 || counts[1] == 0 {
		t.Errorf("the work is not shared: %v", counts)
	}
}

func TestACompiledInConnectorWins(t *testing.T) {
	t.Parallel()
	built := compiledIn{}
	w := newWorld(t, func(w *world, _ *natsservice.Config) {
		if err := w.registry.Add(built); err != nil {
			t.Fatal(err)
		}
	})
	mail := w.start("mail", mutation("send"))
	w.start("peek", mutation("send")) // a member of ctx
	w.refresh()
	if c, _ := w.registry.Connector("mail"); c != connector.Connector(built) {
		t.Error("the compiled-in connector was replaced")
	}
	if r, ok := w.refusal("mail", ""); !ok || !strings.Contains(r.Reason, "compiled-in") {
		t.Errorf("refused %t: %s", ok, r.Reason)
	}
	if r, ok := w.refusal("peek", ""); !ok || !strings.Contains(r.Reason, "reserved") {
		t.Errorf("refused %t: %s", ok, r.Reason)
	}
	mail.kill()
	w.refresh()
	if _, ok := w.registry.Connector("mail"); !ok {
		t.Error("the compiled-in connector went with the service")
	}
}

type compiledIn struct{}

func (compiledIn) Name() string                      { return "mail" }
func (compiledIn) Operations() []connector.Operation { return nil }
func (compiledIn) Read(context.Context, connector.Call) (json.RawMessage, error) {
	return nil, nil
}
func (compiledIn) Perform(context.Context, connector.Call) connector.Outcome {
	return connector.Outcome{}
}
func (compiledIn) Reconcile(context.Context, connector.Call) connector.Reconciliation {
	return connector.Reconciliation{}
}

func TestToolsAreLookedForByThemselves(t *testing.T) {
	t.Parallel()
	// With the shortest of intervals: only the loop looks here.
	w := newWorld(t, func(_ *world, c *natsservice.Config) { c.Interval = time.Millisecond })
	came := make(chan struct{})
	go func() {
		defer close(came)
		w.await("mail.send")
	}()
	w.start("mail", mutation("send"))
	<-came
}

func TestAwaitNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("mail", mutation("send"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := w.watcher.Await(ctx, "mail.send", "mail.find", "fax.send")
	if err == nil || !strings.Contains(err.Error(), "wait for mail.find, fax.send:") {
		t.Errorf("await: %v", err)
	}
}

func TestCloseTakesTheServicesAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("mail", mutation("send"))
	w.await("mail.send")
	if err := w.watcher.Close(); err != nil {
		t.Fatal(err)
	}
	if w.has("mail", "send") {
		t.Error("still there")
	}
	if err := w.watcher.Refresh(t.Context()); err == nil {
		t.Error("a closed watcher looks for services")
	}
}

// A tool's credentials let it serve and answer, nothing else.
func TestAToolMayNotListenElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spy := w.start("spy", mutation("send"), endpointSpec{Name: "log", Subject: "pawl.log.>"})
	line := strings.Join(spy.denied, "\n")
	if line == "" {
		line = spy.line() // the client tells by the way
	}
	if !strings.HasPrefix(line, "denied ") || !strings.Contains(line, "pawl.log.>") {
		t.Errorf("the tool may listen to the log: %q", line)
	}
}
