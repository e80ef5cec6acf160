package lifecycle_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// holding lets the call wait until it is let go; the channel says that it has left.
func holding(then outcome) (o outcome, left <-chan struct{}, letGo func()) {
	reached, gate := make(chan struct{}), make(chan struct{})
	return func(w *enginetest.World, call connector.Call) connector.Outcome {
		close(reached)
		<-gate
		return then(w, call)
	}, reached, func() { close(gate) }
}

// inFlight pushes an order and waits until its call has left, which takes effect when it is let go.
func (l *life) inFlight() (letGo func()) {
	l.t.Helper()
	o, left, letGo := holding(applied)
	l.sends(o)
	l.pushed("a")
	<-left
	return letGo
}

// Completed flow: available → running → completed; attempts count from 1 (J1).
func TestJobCompletes(t *testing.T) {
	l := live(t)
	l.deploy(shop{})
	l.do("pauseWorkflow", nil)
	l.push("a")
	l.wantJob("a", "available", 0)
	o, left, letGo := holding(applied)
	l.sends(o)
	l.do("resumeWorkflow", nil)
	<-left
	if j := l.wantJob("a", "running", 1); j.Attempts[0].N != 1 || j.Attempts[0].EndedAt != 0 || j.FinalizedAt != 0 {
		t.Errorf("the running job: %+v", j)
	}
	letGo()
	l.rest()
	if j := l.wantJob("a", "completed", 1); j.FinalizedAt == 0 || *j.Consumer != "send" || j.MaxAttempts != nil {
		t.Errorf("the completed job: %+v", j)
	}
	// Never from completed (J3), and nothing else either (J4, O7).
	for _, id := range []string{"redriveEvent", "cancelEvent", "skipEvent"} {
		l.refused("job.state", id, "topic", "orders", "messageId", "a")
	}
	l.wantSent(1)
	l.sound()
}

// Cancelled by the user: available → cancelled; it is never processed, until it is redriven.
func TestJobCancelledByUser(t *testing.T) {
	l := live(t)
	l.deploy(shop{})
	l.do("pauseWorkflow", nil)
	l.push("a", "b", "c")
	var bulk struct {
		Updated int
		Noop    []decide.Noop
	}
	items := []any{map[string]any{"topic": "orders", "messageId": "a"},
		map[string]any{"topic": "orders", "messageId": "b"}, map[string]any{"topic": "orders", "messageId": "x"}}
	l.do("cancelEvents", &bulk, "items", items, "reason", "double")
	if bulk.Updated != 2 || len(bulk.Noop) != 1 || bulk.Noop[0].MessageID != "x" {
		t.Fatalf("cancel: %+v", bulk)
	}
	l.wantJob("a", "cancelled", 0)
	l.do("resumeWorkflow", nil)
	l.rest()
	l.wantEvent("a", "skipped")
	l.wantEvent("c", "consumed")
	l.wantSent(1)
	l.do("redriveEvents", &bulk, "items", items) // partial success is no error (J4)
	if bulk.Updated != 2 || len(bulk.Noop) != 1 {
		t.Fatalf("redrive: %+v", bulk)
	}
	l.rest()
	l.wantJob("a", "completed", 1)
	l.wantSent(3)
	l.sound()
}

// A running job is not cancelled: that is a refused no-op (J4).
func TestRunningJobIsNotCancelled(t *testing.T) {
	l := live(t)
	l.deploy(shop{})
	letGo := l.inFlight()
	l.refused("job.state", "cancelEvent", "topic", "orders", "messageId", "a")
	letGo()
	l.rest()
	l.wantJob("a", "completed", 1)
	l.sound()
}

// Cancelled by the handler: running → cancelled, with that run's commit (J5).
func TestJobCancelledByHandler(t *testing.T) {
	l := live(t)
	l.deploy(shop{prepare: `if (order.id === "spam") return { reservations: [], data: null, ` +
		`cancel: [{ topic: "orders", ids: ["spam"], reason: "it is spam" }] };`})
	l.push("spam", "a")
	l.wantJob("spam", "cancelled", 0)
	l.wantJob("a", "completed", 1)
	if e := l.bench.FullFold("shop"); e.Event("orders", "spam").Reason != "it is spam" {
		t.Errorf("the reason: %q", e.Event("orders", "spam").Reason)
	}
	l.wantSent(1)
	l.sound()
}

// refusing makes every call for the order fail definitely, and no other.
func refusing(order string, class eventlog.Class) outcome {
	return func(w *enginetest.World, call connector.Call) connector.Outcome {
		if strings.Contains(string(call.Params), `"`+order+`"`) {
			return definitely(class)(w, call)
		}
		return applied(w, call)
	}
}

// Retryable and discarded flow: X retries, then running → discarded in the failure's own transition;
// the workflow goes on all the while (J2). Redrive starts the count again and keeps the errors (J3).
func TestJobIsDiscardedAndRedriven(t *testing.T) {
	l := live(t)
	l.deploy(shop{options: "maxAttempts: 2,"})
	l.always(refusing("a", eventlog.Logic))
	l.push("a")
	j := l.wantJob("a", "retryable", 1)
	if j.ScheduledAt == 0 || j.Attempts[0].Error == nil || *j.MaxAttempts != 2 {
		t.Fatalf("the retryable job: %+v", j)
	}
	l.wantEvent("a", "pending")
	l.wantWorkflow("active")
	if w := l.wantWhy(decide.ReasonBackoff); *w.Subject != "a" || w.Until != j.ScheduledAt {
		t.Errorf("why: %+v", w)
	}
	l.push("b") // the others go on, and cannot see it
	l.wantJob("b", "completed", 1)
	l.wantJob("a", "retryable", 1)
	l.advance("1s") // 1⁴ seconds
	l.wantJob("a", "retryable", 2)
	l.advance("15s") // 2⁴ seconds, less one
	l.wantJob("a", "retryable", 2)
	l.advance("1s")
	discarded := l.wantJob("a", "discarded", 3)
	if discarded.FinalizedAt == 0 || discarded.Attempts[2].Error.Class != eventlog.Logic {
		t.Errorf("the discarded job: %+v", discarded)
	}
	l.wantWorkflow("active")
	kinds := l.bench.FullFold("shop")
	if r := kinds.Run(discarded.Attempts[2].Run); r.EndedAt != discarded.FinalizedAt {
		t.Error("discarded in another transition than the failure's")
	}
	l.advance("24h") // parked, invisible to peek
	l.wantJob("a", "discarded", 3)
	l.wantSent(4)

	l.always(nil)
	l.do("redriveEvent", nil, "topic", "orders", "messageId", "a")
	l.rest()
	done := l.wantJob("a", "completed", 4)
	if done.Attempts[0].Error == nil || done.Attempts[3].Error != nil || done.Attempts[3].N != 1 {
		t.Errorf("the redriven job: %+v", done.Attempts)
	}
	l.sound()
}

// A retryable job can be cancelled while it waits (J4).
func TestRetryableJobIsCancelled(t *testing.T) {
	l := live(t)
	l.deploy(shop{options: "maxAttempts: 5,"})
	l.sends(definitely(eventlog.Transient))
	l.push("a")
	l.wantJob("a", "retryable", 1)
	l.do("cancelEvent", nil, "topic", "orders", "messageId", "a")
	l.advance("1h")
	l.wantJob("a", "cancelled", 1)
	l.wantWhy(decide.ReasonIdle)
	l.sound()
}

// X = 0 discards at the first failure that counts; what is no failure of a job blocks as ever (J2).
func TestWhatCountsAgainstAJob(t *testing.T) {
	for _, c := range []struct {
		name    string
		shop    shop
		outcome outcome
		reads   eventlog.Class
		job     string
		tried   int
		state   string // of the workflow
	}{
		{name: "transient, the first", outcome: definitely(eventlog.Transient), job: "retryable", tried: 1, state: "active"},
		{name: "logic, no retries", outcome: definitely(eventlog.Logic), job: "discarded", tried: 1, state: "active"},
		{name: "thrown in mutate", shop: shop{mutate: broken("mutate")}, job: "discarded", tried: 1, state: "active"},
		{name: "permission", outcome: definitely(eventlog.Permission), job: "retryable", tried: 1, state: "error permission"},
		{name: "precondition", outcome: definitely(eventlog.Precondition), job: "retryable", tried: 1,
			state: "error precondition"},
		{name: "internal", outcome: definitely(eventlog.Internal), job: "retryable", tried: 1, state: "error internal"},
		{name: "before any reservation", shop: shop{prepare: broken("read")}, job: "available", tried: 0,
			state: "active maintenance"},
		{name: "after the mutation", shop: shop{next: broken("publish")}, job: "running", tried: 1,
			state: "active maintenance retry"},
		{name: "uncertain", shop: shop{mutate: fires}, outcome: lost, job: "running", tried: 1,
			state: "paused indeterminate retry"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := live(t)
			c.shop.options = "maxAttempts: 0,"
			l.deploy(c.shop)
			if c.outcome != nil {
				l.sends(c.outcome)
			}
			l.push("a")
			l.wantJob("a", c.job, c.tried)
			l.wantWorkflow(c.state)
			l.sound()
		})
	}
}

// Stuck flow: crashes never discard and never strand a job, however often (J6).
func TestStuckJobRunsAgain(t *testing.T) {
	l := live(t)
	dies := make(chan bool)
	l.world.OnRead(func(connector.Call) (json.RawMessage, error) {
		if <-dies {
			l.log.Kill()
		}
		return json.RawMessage(`{}`), nil
	})
	l.deploy(shop{options: `maxAttempts: 0, mutateReads: "byId",`, mutate: `await ctx.world.get({ id: data.order });` +
		call})
	l.pushed("a")
	for range 2 {
		dies <- true
		l.died()
	}
	dies <- false
	l.rest()
	j := l.wantJob("a", "completed", 3)
	for _, attempt := range j.Attempts[:2] {
		if attempt.Error != nil || attempt.EndedAt == 0 {
			t.Errorf("a crash is no failure: %+v", attempt)
		}
	}
	var crashed readmodel.Page[readmodel.Run]
	if l.do("listWorkflowRuns", &crashed, "status", "crashed"); len(crashed.Items) != 2 {
		t.Errorf("%d crashed runs", len(crashed.Items))
	}
	l.wantSent(1)
	l.sound()
}

// With a mutation in flight at-most-once wins: the job waits for the world's answer (J6).
func TestStuckInFlightWaitsForReconcile(t *testing.T) {
	l := live(t)
	l.deploy(shop{options: "maxAttempts: 0,"})
	l.sends(l.crashes(lostApplied))
	l.pushed("a")
	l.died()
	l.rest()
	l.wantJob("a", "running", 1)
	l.wantWorkflow("paused reconciliation retry")
	l.wantWhy(decide.ReasonReconcile)
	l.advance("15s")
	l.wantMutation("applied reconcile")
	l.wantJob("a", "completed", 1)
	l.wantReceipt("a", "applied")
	l.wantSent(1)
	l.sound()
}
