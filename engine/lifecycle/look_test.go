package lifecycle_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// do calls an operation of the interface on workflow shop, which must succeed.
func (l *life) do(id string, out any, pairs ...any) {
	l.t.Helper()
	if err := l.try(id, out, pairs...); err != nil {
		var p *rpc.Problem
		errors.As(err, &p)
		l.t.Fatalf("%s: %v (%+v)", id, err, p)
	}
}

func (l *life) try(id string, out any, pairs ...any) error {
	l.t.Helper()
	params := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		params[pairs[i].(string)] = pairs[i+1]
	}
	o, ok := ops.Lookup(id)
	if !ok {
		l.t.Fatalf("there is no operation %s", id)
	}
	if strings.Contains(o.Path, "{workflow}") && params["workflow"] == nil {
		params["workflow"] = "shop"
	}
	return l.client.Do(l.t.Context(), id, params, out)
}

// refused calls an operation that must be refused with the code.
func (l *life) refused(code, id string, pairs ...any) *rpc.Problem {
	l.t.Helper()
	var p *rpc.Problem
	if err := l.try(id, nil, pairs...); !errors.As(err, &p) || p.Code != code {
		l.t.Fatalf("%s: got %v (%+v), want to be refused with %s", id, err, p, code)
	}
	return p
}

// deploy makes the script the current version, with everything allowed.
func (l *life) deploy(s shop) {
	l.t.Helper()
	l.do("deployWorkflow", nil, "source", s.source(), "filename", "shop.ts", "grants", map[string]any{"*": "allow"})
	l.rest()
}

func (l *life) repair(s shop) {
	l.t.Helper()
	l.do("repairWorkflow", nil, "source", s.source(), "filename", "shop.ts", "note", "repaired")
	l.rest()
}

// push brings orders in and lets everything come to rest.
func (l *life) push(ids ...string) {
	l.t.Helper()
	l.pushed(ids...)
	l.rest()
}

func (l *life) pushed(ids ...string) {
	l.t.Helper()
	var events []any
	for _, id := range ids {
		events = append(events, map[string]any{"messageId": id, "title": "Order " + id, "payload": map[string]any{"id": id}})
	}
	l.do("pushEvents", nil, "topic", "orders", "events", events)
}

func (l *life) rest() { l.t.Helper(); l.advance("0s") }

// advance moves the clock, stopping at each due moment.
func (l *life) advance(by string) { l.t.Helper(); l.do("advanceClock", nil, "by", by) }

// runs lists the runs of a handler, oldest first.
func (l *life) runs(handler string) []readmodel.Run {
	l.t.Helper()
	var page readmodel.Page[readmodel.Run]
	l.do("listWorkflowRuns", &page, "handler", handler)
	return page.Items
}

// run returns the newest run of the handler that made something of an event: a failed one, or one
// that had data.
func (l *life) run(handler string) readmodel.Run {
	l.t.Helper()
	runs := l.runs(handler)
	for _, r := range slices.Backward(runs) {
		if r.Error != nil || r.Mutation != nil || string(r.PrepareResult) != "" &&
			!strings.Contains(string(r.PrepareResult), `"data":null`) {
			return r
		}
	}
	l.t.Fatalf("no run of %s took anything: %+v", handler, runs)
	return readmodel.Run{}
}

func (l *life) workflow() readmodel.Workflow {
	l.t.Helper()
	var w readmodel.Workflow
	l.do("getWorkflow", &w)
	return w
}

func (l *life) why() explain.Why {
	l.t.Helper()
	var w explain.Why
	l.do("explainWorkflow", &w)
	return w
}

func (l *life) mutations() []readmodel.Mutation {
	l.t.Helper()
	var page readmodel.Page[readmodel.Mutation]
	l.do("listWorkflowMutations", &page)
	return page.Items
}

// mutation returns the newest one.
func (l *life) mutation() readmodel.Mutation {
	l.t.Helper()
	all := l.mutations()
	if len(all) == 0 {
		l.t.Fatal("there is no mutation")
	}
	return all[len(all)-1]
}

func (l *life) job(id string) readmodel.Job {
	l.t.Helper()
	var j readmodel.Job
	l.do("getJob", &j, "topic", "orders", "messageId", id)
	return j
}

func (l *life) event(topic, id string) readmodel.Event {
	l.t.Helper()
	var e readmodel.Event
	l.do("getEvent", &e, "topic", topic, "messageId", id)
	return e
}

// wantRun wants the newest run of send that took something to stand at "phase status outcome".
func (l *life) wantRun(want string) readmodel.Run {
	l.t.Helper()
	r := l.run("send")
	outcome := "none"
	if r.MutationOutcome != nil {
		outcome = string(*r.MutationOutcome)
	}
	if got := fmt.Sprintf("%s %s %s", r.Phase, r.Status, outcome); got != want {
		l.t.Fatalf("the run stands at %q, want %q (error %+v)", got, want, r.Error)
	}
	return r
}

// wantEvent wants the order's status.
func (l *life) wantEvent(id, want string) {
	l.t.Helper()
	if e := l.event("orders", id); string(e.Status) != want {
		l.t.Fatalf("order %s is %s, want %s", id, e.Status, want)
	}
}

// wantJob wants the order's job in a state, after so many attempts.
func (l *life) wantJob(id, state string, attempts int) readmodel.Job {
	l.t.Helper()
	j := l.job(id)
	if string(j.State) != state || len(j.Attempts) != attempts {
		l.t.Fatalf("the job of %s is %s after %d attempts, want %s after %d", id, j.State, len(j.Attempts), state, attempts)
	}
	return j
}

// wantReceipt wants the order's receipt, with the result's status that next was given.
func (l *life) wantReceipt(id, status string) {
	l.t.Helper()
	if e := l.event("receipts", "receipt-"+id); !strings.Contains(string(e.Payload), `"status":"`+status+`"`) {
		l.t.Fatalf("next of %s was given %s, want status %s", id, e.Payload, status)
	}
}

// wantWorkflow wants status, reason of the system's hold, and the words maintenance and retry for
// what else holds, e.g. "error auth retry".
func (l *life) wantWorkflow(want string) {
	l.t.Helper()
	w := l.workflow()
	got := string(w.Status)
	if w.Blocked != nil {
		got += " " + string(w.Blocked.Reason)
	}
	if w.Maintenance {
		got += " maintenance"
	}
	if w.PendingRetryRun != nil {
		got += " retry"
	}
	if got != want {
		l.t.Fatalf("the workflow is %q, want %q", got, want)
	}
}

func (l *life) wantMutation(want string) readmodel.Mutation {
	l.t.Helper()
	m := l.mutation()
	got := string(m.Status)
	if m.ResolvedBy != nil {
		got += " " + *m.ResolvedBy
	}
	if got != want {
		l.t.Fatalf("the mutation is %q, want %q", got, want)
	}
	return m
}

func (l *life) wantWhy(want decide.Reason) explain.Why {
	l.t.Helper()
	w := l.why()
	if w.Reason == nil || *w.Reason != want {
		l.t.Fatalf("it waits for %v, want %s: %s", w.Reason, want, w.Message)
	}
	return w
}

// wantSent wants so many calls to have left, each once.
func (l *life) wantSent(want int) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.sent) != want {
		l.t.Fatalf("%d calls left, want %d: %v", len(l.sent), want, l.order)
	}
	for key, n := range l.sent {
		if n != 1 {
			l.t.Fatalf("call %s left %d times", key, n)
		}
	}
}

// sound ends a test: nothing was sent twice, nothing is orphaned, the log is whole and agrees with
// the store.
func (l *life) sound() {
	l.t.Helper()
	l.mu.Lock()
	for key, n := range l.sent {
		if n != 1 {
			l.t.Errorf("call %s left %d times", key, n)
		}
	}
	l.mu.Unlock()
	var d struct {
		OrphanedReservations, Stopped []any
		Log                           struct{ OK bool }
	}
	l.do("getDiagnostics", &d)
	if len(d.OrphanedReservations) > 0 || len(d.Stopped) > 0 || !d.Log.OK {
		l.t.Errorf("diagnostics: %+v", d)
	}
	var v replay.Verification
	l.do("verifyLog", &v)
	if !v.OK {
		l.t.Errorf("verify: %+v", v)
	}
}
