package lifecycle_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

const throws = `throw new Error("cannot " + phase);`

// broken is a handler's line that fails as a script does.
func broken(phase string) string { return strings.ReplaceAll(throws, "phase", `"`+phase+`"`) }

// 1. A logic failure before the mutation frees the events and asks for a repair; then a fresh run.
func TestLogicFailureInPrepare(t *testing.T) {
	l := live(t)
	l.deploy(shop{prepare: broken("read")})
	l.push("a")
	failed := l.wantRun("preparing failed:logic none")
	if failed.EndedAt == 0 || failed.Error.Class != eventlog.Logic || failed.Error.Line == nil {
		t.Fatalf("the failed run: %+v", failed)
	}
	l.wantEvent("a", "pending")
	l.wantWorkflow("active maintenance")
	l.wantWhy(decide.ReasonMaintenance)
	l.repair(shop{})
	fresh := l.wantRun("committed committed success")
	if fresh.RetryOf != nil || fresh.Version != "1.1" {
		t.Fatalf("the fresh run: %+v", fresh)
	}
	l.wantEvent("a", "consumed")
	l.wantWorkflow("active")
	l.wantSent(1)
	l.sound()
}

// 2. A logic failure after the mutation keeps the events; the repaired script runs only next.
func TestLogicFailureInNext(t *testing.T) {
	l := live(t)
	l.deploy(shop{next: broken("publish")})
	l.push("a")
	failed := l.wantRun("emitting failed:logic success")
	l.wantEvent("a", "reserved")
	l.wantWorkflow("active maintenance retry")
	l.repair(shop{})
	retry := l.wantRun("committed committed success")
	if retry.RetryOf == nil || *retry.RetryOf != failed.ID || *retry.Mutation != *failed.Mutation ||
		string(retry.PrepareResult) != string(failed.PrepareResult) {
		t.Fatalf("the retry run: %+v", retry)
	}
	l.wantEvent("a", "consumed")
	l.wantReceipt("a", "applied")
	l.wantSent(1)
	l.sound()
}

// 3. A transient failure before the mutation frees the events; a fresh run follows after a backoff.
func TestTransientFailureInPrepare(t *testing.T) {
	l := live(t)
	l.reads(eventlog.Transient)
	l.deploy(shop{prepare: `await ctx.world.list({});`})
	l.push("a")
	l.wantRun("preparing paused:transient none")
	l.wantEvent("a", "pending")
	l.wantWorkflow("active")
	if w := l.wantWhy(decide.ReasonBackoff); w.Until == 0 {
		t.Fatalf("it does not say when it goes on: %+v", w)
	}
	l.reads("")
	l.advance("5s")
	l.wantRun("committed committed success")
	l.wantEvent("a", "consumed")
	l.wantSent(1)
	l.sound()
}

// 4. A transient failure in emitting (only our own storage can be that slow there) keeps the events;
// a retry run runs next after a backoff.
func TestTransientFailureInEmitting(t *testing.T) {
	l := live(t, func(p *schedule.Policies) { p.Storage.Wait = storageWait })
	l.deploy(shop{mutate: `/* nothing to send */`})
	l.isSlowAt("run.prepared")
	l.push("a")
	failed := l.wantRun("emitting paused:transient none")
	if failed.Error.Code != "storage.slow" {
		t.Fatalf("the failed run: %+v", failed.Error)
	}
	l.wantEvent("a", "reserved")
	l.wantWorkflow("active retry")
	l.wantWhy(decide.ReasonBackoff)
	l.advance("5s")
	if retry := l.wantRun("committed committed none"); *retry.RetryOf != failed.ID {
		t.Fatalf("the retry run: %+v", retry)
	}
	l.wantEvent("a", "consumed")
	l.wantReceipt("a", "none")
	l.sound()
}

// 5 and 10. Everything goes well: four writes, and each fact in its place.
func TestWholeCycle(t *testing.T) {
	l := live(t)
	l.deploy(shop{})
	before := len(l.bench.Kinds("shop"))
	l.push("a")
	l.wantRun("committed committed success")
	l.wantMutation("applied")
	l.wantEvent("a", "consumed")
	l.wantReceipt("a", "applied")
	want := []string{"event.published", "mutation.started", "mutation.applied", "run.committed", "run.committed"}
	if got := l.bench.Kinds("shop")[before:]; !slices.Equal(got, want) {
		t.Fatalf("transitions: %v", got)
	}
	var handlers readmodel.Page[readmodel.Handler]
	l.do("listWorkflowHandlers", &handlers)
	if got := string(handlers.Items[0].State); got != `{"last":"a","result":"applied"}` {
		t.Fatalf("the consumer's state: %s", got)
	}
	l.sound()
}

// 6. A mutation that definitely failed frees the events; the phase stays at mutating (R17).
func TestMutationFails(t *testing.T) {
	l := live(t)
	l.deploy(shop{})
	l.sends(definitely(eventlog.Logic))
	l.push("a")
	l.wantRun("mutating failed:logic failure")
	l.wantMutation("failed")
	l.wantEvent("a", "pending")
	l.wantWorkflow("active maintenance")
	l.repair(shop{mutate: call + `/* with better parameters */`})
	l.wantRun("committed committed success")
	l.wantEvent("a", "consumed")
	l.wantSent(2) // two mutations: the failed one is not sent again
	l.sound()
}

// 7. The process dies while the call is in flight and its connector cannot be asked: a person says that it did
// not happen, and it is done afresh. Saying so unblocks by itself (O4).
func TestCrashInFlightDidNotHappen(t *testing.T) {
	l := live(t)
	l.deploy(shop{mutate: fires})
	l.sends(l.crashes(lost))
	l.pushed("a")
	l.died()
	l.rest()
	l.wantRun("mutating paused:reconciliation none")
	l.advance("1m")
	m := l.wantMutation("indeterminate")
	l.wantEvent("a", "reserved")
	l.wantWorkflow("paused indeterminate retry")
	l.wantWhy(decide.ReasonIndeterminate)
	l.do("resolveMutation", nil, "mutation", m.ID, "resolution", "did_not_happen")
	l.rest()
	if first := l.mutations()[0]; first.Status != "failed" || *first.ResolvedBy != "user_assert_failed" {
		t.Fatalf("the resolved mutation: %+v", first)
	}
	if fresh := l.wantRun("committed committed success"); fresh.RetryOf != nil {
		t.Fatalf("not a fresh run: %+v", fresh)
	}
	l.wantEvent("a", "consumed")
	l.wantWorkflow("active")
	l.do("resumeWorkflow", nil) // a harmless no-op
	l.wantSent(2)
	l.sound()
}

// crashes lets the process die inside the call, after the outcome.
func (l *life) crashes(then outcome) outcome {
	return outcomeFunc(func(call connector.Call) connector.Outcome {
		out := then(l.world, call)
		l.log.Kill()
		return out
	})
}

// 8. The same, and the person skips it: the events are skipped in that very transition and a retry
// run tells next.
func TestCrashInFlightSkipped(t *testing.T) {
	l := live(t)
	l.deploy(shop{mutate: fires})
	l.sends(l.crashes(lostApplied))
	l.pushed("a")
	l.died()
	l.rest()
	crashed := l.wantRun("mutating paused:reconciliation none")
	l.advance("1m")
	m := l.wantMutation("indeterminate")
	l.do("resolveMutation", nil, "mutation", m.ID, "resolution", "skip")
	l.rest()
	l.wantMutation("failed user_skip")
	if retry := l.wantRun("committed committed skipped"); *retry.RetryOf != crashed.ID {
		t.Fatalf("the retry run: %+v", retry)
	}
	l.wantEvent("a", "skipped")
	l.wantReceipt("a", "skipped")
	l.wantWorkflow("active")
	l.wantSent(1)
	l.sound()
}

// 9. Empty reservations go on to next, which is told that there was nothing (R3).
func TestEmptyReservations(t *testing.T) {
	l := live(t)
	l.deploy(shop{prepare: `return { reservations: [{ topic: "orders", ids: [] }], ` +
		`data: { order: "none of " + order.id } };`})
	l.push("a")
	r := l.run("send")
	if r.Phase != eventlog.PhaseCommitted || r.Mutation != nil {
		t.Fatalf("the run: %+v", r)
	}
	l.wantReceipt("none of a", "none")
	l.wantEvent("a", "pending")
	runs := len(l.runs("send"))
	l.advance("1h")
	if got := len(l.runs("send")); got != runs {
		t.Fatalf("%d more runs: it spins on what it does not want", got-runs)
	}
	l.wantWhy(decide.ReasonIdle)
	l.wantSent(0)
	l.sound()
}

// 11. A crash in each place: in prepare, between prepare and mutate, and in next.
func TestCrashOutsideTheCall(t *testing.T) {
	t.Run("prepare", func(t *testing.T) {
		l := live(t)
		l.deploy(shop{prepare: `await ctx.world.list({});`})
		l.world.OnRead(func(connector.Call) (json.RawMessage, error) { l.log.Kill(); return json.RawMessage(`[]`), nil })
		l.pushed("a")
		if err := l.engine.Wait(); err == nil {
			t.Fatal("the process did not die")
		}
		l.world.OnRead(nil)
		l.died()
		l.recovered(1, "preparing")
	})
	t.Run("prepared", func(t *testing.T) {
		l := live(t)
		l.deploy(shop{options: `mutateReads: "byId",`})
		l.diesAfter("run.prepared")
		l.pushed("a")
		l.died()
		l.recovered(2, "mutating")
	})
	t.Run("next", func(t *testing.T) {
		l := live(t)
		l.deploy(shop{})
		l.diesAfter("mutation.applied")
		l.pushed("a")
		l.died()
		l.recovered(1, "emitting")
		if r := l.run("send"); r.RetryOf == nil {
			t.Fatalf("not a retry run: %+v", r)
		}
	})
}

// recovered wants a crashed run in the phase, its order consumed by another run, and one call.
func (l *life) recovered(attempts int, phase eventlog.Phase) {
	l.t.Helper()
	l.rest()
	var crashed readmodel.Page[readmodel.Run]
	l.do("listWorkflowRuns", &crashed, "status", "crashed")
	if len(crashed.Items) != 1 || crashed.Items[0].Phase != phase || crashed.Items[0].EndedAt == 0 {
		l.t.Fatalf("crashed runs: %+v", crashed.Items)
	}
	l.wantRun("committed committed success")
	l.wantJob("a", "completed", attempts)
	l.wantReceipt("a", "applied")
	l.wantWorkflow("active")
	l.wantSent(1)
	l.sound()
}

// 12. A failing producer leaves nothing visible and asks for a repair; the poll is still owed.
func TestProducerFails(t *testing.T) {
	l := live(t)
	publish := `await ctx.publish("orders", { messageId: "a", title: "Order a" });`
	l.deploy(shop{producer: publish + broken("poll")})
	if r := l.run("poll"); r.Phase != eventlog.PhaseExecuting || r.Status != eventlog.RunStatusFailedLogic {
		t.Fatalf("the producer's run: %+v", r)
	}
	l.wantWorkflow("active maintenance")
	var events readmodel.Page[readmodel.Event]
	if l.do("listWorkflowEvents", &events); len(events.Items) != 0 {
		t.Fatalf("a failed producer's events are visible: %+v", events.Items)
	}
	l.repair(shop{producer: publish})
	l.wantEvent("a", "consumed")
	l.wantWorkflow("active")
	l.sound()
}

// 13. Auth failures block until a person has seen to them; before the mutation nothing is held.
func TestAuthFails(t *testing.T) {
	t.Run("in a read", func(t *testing.T) {
		l := live(t)
		l.reads(eventlog.Auth)
		l.deploy(shop{prepare: `await ctx.world.list({});`})
		l.push("a")
		l.wantRun("preparing paused:approval none")
		l.blockedByAuth()
		l.reads("")
		l.do("resumeWorkflow", nil)
		l.rest()
		l.wantEvent("a", "consumed")
		l.sound()
	})
	t.Run("in the call", func(t *testing.T) {
		l := live(t)
		l.deploy(shop{})
		l.sends(definitely(eventlog.Auth))
		l.push("a")
		l.wantRun("mutating paused:approval failure")
		l.blockedByAuth()
		l.do("resumeWorkflow", nil)
		l.rest()
		l.wantEvent("a", "consumed")
		l.wantSent(2)
		l.sound()
	})
}

func (l *life) blockedByAuth() {
	l.t.Helper()
	l.wantEvent("a", "pending")
	l.wantWorkflow("error auth")
	l.wantWhy(decide.ReasonBlocked)
	l.advance("24h")
	l.wantWorkflow("error auth") // it does not go away by itself
	l.wantEvent("a", "pending")
}

// 14. Two consumers in one session: the first succeeds, the second fails and ends the session.
func TestSecondConsumerFails(t *testing.T) {
	l := live(t)
	l.deploy(filing(broken("file")))
	l.push("a")
	l.wantEvent("a", "consumed")
	l.wantRun("committed committed success")
	failed := l.run("file")
	if failed.Phase != eventlog.PhaseEmitting || failed.Status != eventlog.RunStatusFailedLogic {
		t.Fatalf("the second consumer's run: %+v", failed)
	}
	if first := l.run("send"); first.Session != failed.Session {
		t.Fatal("the two runs are not of one session")
	}
	var sessions readmodel.Page[readmodel.Session]
	l.do("listWorkflowSessions", &sessions)
	if last := sessions.Items[len(sessions.Items)-1]; last.ID != failed.Session || last.Result == nil ||
		*last.Result != "failed" {
		t.Fatalf("the session: %+v", last)
	}
	l.wantWorkflow("active maintenance retry")
	l.repair(filing(""))
	if retry := l.run("file"); retry.Status != eventlog.RunStatusCommitted || *retry.RetryOf != failed.ID {
		t.Fatalf("the retry run: %+v", retry)
	}
	if e := l.event("receipts", "receipt-a"); e.Status != eventlog.EventStatusConsumed {
		t.Fatalf("the receipt: %+v", e)
	}
	l.wantSent(2)
	l.sound()
}
