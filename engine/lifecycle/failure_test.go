package lifecycle_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// F1, F2, F3, F7: the class of a failure gives the run's status and what it does to the workflow.
// The class comes from typed errors: an error without a class is logic in a script, internal in a read.
func TestClassDecides(t *testing.T) {
	list := shop{prepare: `await ctx.world.list({});`}
	for _, c := range []struct {
		name     string
		shop     shop
		read     error
		class    eventlog.Class
		run      string
		workflow string
		reason   decide.Reason
	}{
		{"transient", list, enginetest.Failing(eventlog.Transient, "x"), eventlog.Transient,
			"preparing paused:transient none", "active", decide.ReasonBackoff},
		{"logic", list, enginetest.Failing(eventlog.Logic, "x"), eventlog.Logic, "preparing failed:logic none",
			"active maintenance", decide.ReasonMaintenance},
		{"auth", list, enginetest.Failing(eventlog.Auth, "x"), eventlog.Auth, "preparing paused:approval none", "error auth",
			decide.ReasonBlocked},
		{"permission", list, enginetest.Failing(eventlog.Permission, "x"), eventlog.Permission,
			"preparing paused:approval none", "error permission", decide.ReasonBlocked},
		{"precondition", list, enginetest.Failing(eventlog.Precondition, "x"), eventlog.Precondition,
			"preparing paused:approval none", "error precondition", decide.ReasonBlocked},
		{"internal", list, enginetest.Failing(eventlog.Internal, "x"), eventlog.Internal, "preparing failed:internal none",
			"error internal", decide.ReasonBlocked},
		{"unclassified in a read", list, errors.New("429 too many requests, try again: transient"), eventlog.Internal,
			"preparing failed:internal none", "error internal", decide.ReasonBlocked},
		{"thrown by the script", shop{prepare: `throw new Error("transient: try again");`}, nil, eventlog.Logic,
			"preparing failed:logic none", "active maintenance", decide.ReasonMaintenance},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := live(t)
			l.world.OnRead(func(connector.Call) (json.RawMessage, error) { return json.RawMessage(`[]`), c.read })
			l.deploy(c.shop)
			l.push("a")
			if r := l.run("send"); r.Error == nil || r.Error.Class != c.class {
				t.Fatalf("the run's error: %+v", r.Error)
			}
			l.wantRun(c.run)
			l.wantEvent("a", "pending")
			l.wantWorkflow(c.workflow)
			l.wantWhy(c.reason)
			l.wantSent(0)
			l.sound()
		})
	}
}

// The author of a repair sees the call that was refused, exactly as it was made.
func TestEvidenceOfARefusedCall(t *testing.T) {
	l := live(t)
	l.deploy(shop{})
	l.sends(definitely(eventlog.Logic))
	l.push("a")
	run := l.wantRun("mutating failed:logic failure")
	var evidence struct {
		Error    *struct{ Code string }
		Mutation *readmodel.Mutation
	}
	l.do("getEvidence", &evidence, "workflow", "shop", "run", run.ID)
	if m := evidence.Mutation; evidence.Error == nil || m == nil || string(m.Params) != `{"order":"a"}` ||
		m.Error == nil || m.Error.Code != evidence.Error.Code {
		t.Errorf("the evidence: %+v, the call %+v", evidence.Error, evidence.Mutation)
	}
	l.sound()
}

// F3, F4, F5: an uncertain call is asked about once at once; if the answer is known, the same run
// goes on, or its events are free.
func TestInlineReconcile(t *testing.T) {
	t.Run("it had happened", func(t *testing.T) {
		l := live(t)
		l.deploy(shop{})
		l.sends(lostApplied)
		l.push("a")
		if r := l.wantRun("committed committed success"); r.RetryOf != nil {
			t.Fatalf("not the same run: %+v", r)
		}
		if m := l.wantMutation("applied reconcile"); m.ReconcileAttempts != 0 {
			t.Errorf("the inline attempt was counted: %+v", m)
		}
		l.wantSent(1)
		l.sound()
	})
	t.Run("it had not", func(t *testing.T) {
		l := live(t)
		l.deploy(shop{})
		l.sends(unsure)
		l.push("a")
		l.wantRun("mutating paused:transient failure")
		l.wantMutation("failed reconcile")
		l.wantEvent("a", "pending")
		l.advance("5s")
		l.wantEvent("a", "consumed")
		l.wantSent(2) // a fresh run's own mutation
		l.sound()
	})
	t.Run("a panic and a forgotten outcome are uncertain", func(t *testing.T) {
		l := live(t)
		l.deploy(shop{mutate: fires})
		l.sends(outcomeFunc(func(connector.Call) connector.Outcome { return connector.Outcome{} }))
		l.push("a")
		l.wantMutation("indeterminate")
		m := l.mutation()
		l.do("resolveMutation", nil, "mutation", m.ID, "resolution", "skip")
		l.rest()
		l.sends(outcomeFunc(func(connector.Call) connector.Outcome { panic("out of order") }))
		l.push("b")
		l.wantMutation("indeterminate")
		l.sound()
	})
}

// F5: an uncertain mutation is asked about with backoff, never sent again, and left to a person when
// the attempts are used up; without a reconcile that is at once.
func TestReconcileIsExhausted(t *testing.T) {
	l := live(t)
	l.deploy(shop{})
	l.sends(lost)
	l.reconciles(connector.VerdictRetry)
	l.push("a")
	l.wantMutation("needs_reconcile")
	l.wantRun("mutating paused:reconciliation none")
	l.wantWorkflow("paused reconciliation retry")
	if w := l.wantWhy(decide.ReasonReconcile); w.Until == 0 {
		t.Errorf("why: %+v", w)
	}
	l.refused("mutation.state", "resolveMutation", "mutation", l.mutation().ID, "resolution", "skip") // O4
	l.advance("1h")
	m := l.wantMutation("indeterminate")
	l.mu.Lock()
	asked := l.asked
	l.mu.Unlock()
	if want := 1 + schedule.Default().Reconcile.Attempts; asked != want || m.SettledAt != 0 {
		t.Errorf("asked %d times, want %d: %+v", asked, want, m)
	}
	l.wantEvent("a", "reserved")
	l.wantSent(1)
	l.sound()
}

// F5: what a reconcile finds out does not hide what the call itself came to: both are in the record
// and in everything that is shown of it, whether the engine or a person asked.
func TestF05_FindingKeepsTheCallsFailure(t *testing.T) {
	const call, notDone, both = "the world says call.timeout", "the call did not take effect",
		"the world says call.timeout; reconcile: the call did not take effect"
	say := func(l *life, verdict connector.Verdict, text string) {
		l.world.OnReconcile(func(connector.Call) connector.Reconciliation {
			return connector.Reconciliation{Verdict: verdict,
				Failure: connector.Failf(eventlog.Transient, connector.CodeNotApplied, "%s", text)}
		})
	}
	told := func(l *life, run, mutation, why string) {
		l.t.Helper()
		if r := l.run("send"); r.Error == nil || r.Error.Message != run || r.Error.Class != eventlog.Transient {
			l.t.Errorf("the run's error: %+v", r.Error)
		}
		if m := l.mutation(); m.Error == nil || m.Error.Message != mutation || m.Error.Class != eventlog.Transient {
			l.t.Errorf("the mutation's error: %+v", m.Error)
		}
		if w := l.why(); !strings.Contains(w.Message, "(“"+why+"”)") {
			l.t.Errorf("why: %s", w.Message)
		}
		var evidence struct{ Mutation readmodel.Mutation }
		r := l.run("send")
		if l.do("getEvidence", &evidence, "run", r.ID); evidence.Mutation.Error == nil ||
			evidence.Mutation.Error.Message != mutation {
			l.t.Errorf("evidence: %+v", evidence.Mutation.Error)
		}
	}
	t.Run("at once", func(t *testing.T) {
		l := live(t)
		l.deploy(shop{})
		l.sends(unsure)
		say(l, connector.VerdictFailed, notDone)
		l.push("a")
		told(l, both, both, both)
		l.sound()
	})
	t.Run("later", func(t *testing.T) {
		l := live(t)
		l.deploy(shop{})
		l.sends(lost)
		say(l, connector.VerdictRetry, "no trace of it yet")
		l.push("a")
		told(l, call, call, call)
		l.advance("6s")
		unknown := call + "; reconcile: no trace of it yet"
		told(l, call, unknown, unknown)
		say(l, connector.VerdictFailed, notDone)
		l.advance("10s")
		if m := l.wantMutation("failed reconcile"); m.Error == nil || m.Error.Message != both {
			t.Errorf("the mutation's error: %+v", m.Error)
		}
		l.sound()
	})
}

// F6: what leaves is in the log first.
func TestInFlightIsDurableBeforeItLeaves(t *testing.T) {
	l := live(t)
	l.deploy(shop{})
	letGo := l.inFlight()
	if m := l.wantMutation("in_flight"); m.StartedAt == 0 || m.ParamsHash == "" {
		t.Errorf("the mutation in flight: %+v", m)
	}
	if w := l.why(); !w.Moving || *w.Subject != string(l.mutation().ID) {
		t.Errorf("why: %+v", w)
	}
	if full := l.bench.FullFold("shop"); full.Mutation(eventlog.MutationID(l.mutation().ID)) == nil {
		t.Error("the log does not hold it yet")
	}
	letGo()
	l.rest()
	l.wantMutation("applied")
	l.sound()
}

// F7: a person's pause and the system's hold are two facts; neither touches the other.
func TestPauseAndHoldAreTwoThings(t *testing.T) {
	l := live(t)
	l.deploy(shop{mutate: fires})
	o, left, letGo := holding(lost)
	l.sends(o)
	l.pushed("a")
	<-left
	l.do("pauseWorkflow", nil)
	letGo()
	l.rest()
	if w := l.workflow(); !w.UserPaused || w.Blocked == nil || w.Blocked.Reason != eventlog.BlockIndeterminate {
		t.Fatalf("the workflow: %+v", w)
	}
	l.do("resolveMutation", nil, "mutation", l.mutation().ID, "resolution", "did_not_happen")
	l.rest()
	if w := l.workflow(); !w.UserPaused || w.Blocked != nil {
		t.Fatalf("resolving touched the pause: %+v", w)
	}
	l.wantWhy(decide.ReasonUserPause)
	l.wantEvent("a", "pending")
	l.do("resumeWorkflow", nil)
	l.rest()
	l.wantEvent("a", "consumed")
	l.sound()
}

// F8: after five failures in a row the workflow needs attention and goes on by itself, at most
// transient.max apart; for `--until-idle` it counts as idle. The first success clears it.
func TestF8_TransientFailuresWithoutEnd(t *testing.T) {
	l := live(t)
	l.reads(eventlog.Transient)
	l.deploy(shop{prepare: `await ctx.world.list({});`})
	l.push("a")
	l.advance("14s")
	if w := l.workflow(); w.Attention != nil {
		t.Fatalf("after four failures it needs attention: %+v", w.Attention)
	}
	l.advance("1s")
	l.wantWorkflow("active")
	if w := l.workflow(); w.Attention == nil || w.Attention.Reason != "transient" ||
		w.Attention.Failures != schedule.Default().Transient.Retries {
		t.Fatalf("after five failures: %+v", w.Attention)
	}
	if why := l.wantWhy(decide.ReasonBackoff); why.Attention == nil {
		t.Errorf("why does not say that it needs attention: %+v", why)
	}
	idle, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := l.engine.WaitIdle(idle); err != nil {
		t.Errorf("a workflow that needs attention is not idle: %v", err)
	}
	l.advance("24h")
	if w, least := l.workflow(), int(24*time.Hour/schedule.Default().Transient.Max); w.Attention == nil ||
		w.Attention.Failures < least {
		t.Errorf("in a day: %+v, want at least %d failures", w.Attention, least)
	}
	l.reads("")
	l.advance("5m")
	l.wantEvent("a", "consumed")
	if w := l.workflow(); w.Attention != nil {
		t.Errorf("a success does not clear it: %+v", w.Attention)
	}
	l.sound()
}

// F8 with transient.then: hold. Resume starts the budget again.
func TestF8_TransientFailuresHold(t *testing.T) {
	l := live(t, func(p *schedule.Policies) { p.Transient.Then = schedule.Hold })
	l.reads(eventlog.Transient)
	l.deploy(shop{prepare: `await ctx.world.list({});`})
	l.push("a")
	l.advance("1h")
	l.wantWorkflow("error transient")
	if got, want := len(l.runs("send"))-1, schedule.Default().Transient.Retries; got != want {
		t.Errorf("%d failed executions, want %d", got, want)
	}
	l.do("resumeWorkflow", nil)
	l.rest()
	l.wantWorkflow("active")
	l.wantWhy(decide.ReasonBackoff)
	l.reads("")
	l.advance("1h")
	l.wantEvent("a", "consumed")
	l.sound()
}

// F8 after a mutation: what is still owed is kept.
func TestExhaustedRetriesKeepWhatIsOwed(t *testing.T) {
	l := live(t, func(p *schedule.Policies) {
		p.Storage.Wait, p.Transient.Retries, p.Transient.Then = storageWait, 0, schedule.Hold
	})
	l.deploy(shop{mutate: `/* nothing to send */`})
	l.isSlowAt("run.prepared")
	l.push("a")
	l.wantWorkflow("error transient retry")
	l.wantEvent("a", "reserved")
	l.do("resumeWorkflow", nil)
	l.rest()
	l.wantEvent("a", "consumed")
	l.sound()
}

// F9: the third logic failure in a row ends the repairs; a refused repair counts too. What is owed
// is kept, and a plain deploy resets the count.
func TestRepairBudget(t *testing.T) {
	l := live(t)
	l.deploy(shop{next: broken("publish")})
	l.push("a")
	if w := l.workflow(); w.Repair == nil || w.Repair.Attempt != 1 || w.Repair.RequestedAt == 0 {
		t.Fatalf("the repair that is asked for: %+v", w.Repair)
	}
	l.refused("repair.refused", "repairWorkflow", "source", "export default 1")
	if w := l.workflow(); w.Repair == nil || w.Repair.Attempt != 2 {
		t.Fatalf("a refused repair does not count: %+v", w.Repair)
	}
	l.repair(shop{next: broken("publish") + "/* no better */"})
	l.wantWorkflow("error logic retry")
	if w := l.workflow(); w.Version != "1.1" || w.Repair != nil {
		t.Fatalf("the workflow: %+v", w)
	}
	l.refused("repair.spent", "repairWorkflow", "source", shop{}.source())
	l.deploy(shop{})
	l.wantWorkflow("active")
	l.wantEvent("a", "consumed")
	l.wantSent(1)
	l.sound()
}

// F9: a repair keeps name, topics and subscriptions, and needs nothing new.
func TestRepairIsRefused(t *testing.T) {
	for name, bad := range map[string]string{
		"a new capability": shop{mutate: fires}.source(),
		"another name":     strings.Replace(shop{}.source(), `name: "shop"`, `name: "shed"`, 1),
		"a topic less":     strings.Replace(shop{}.source(), `, letters: {}`, ``, 1),
		"another subscription": strings.Replace(shop{}.source(), `subscribe: ["orders"]`,
			`subscribe: ["orders", "letters"]`, 1),
		"a syntax error": "export default {",
		"a consumer of its topic": shop{
			more: `other: Keep.consumer({ subscribe: ["orders"], ` +
				`async prepare() { return { reservations: [], data: null }; } }),`,
		}.source(),
	} {
		t.Run(name, func(t *testing.T) {
			l := live(t)
			l.deploy(shop{prepare: broken("read")})
			l.push("a")
			if p := l.refused("repair.refused", "repairWorkflow", "source", bad); len(p.Problems) == 0 ||
				p.Problems[0].Fix == "" {
				t.Errorf("the problem says nothing to go by: %+v", p)
			}
			l.wantWorkflow("active maintenance")
			l.repair(shop{})
			l.wantEvent("a", "consumed")
			l.sound()
		})
	}
}

// F10: while it backs off, waits for a repair or for an answer, nothing else of the workflow runs;
// what comes in accumulates.
func TestNothingElseRuns(t *testing.T) {
	producer := `await ctx.publish("letters", { messageId: "l" + ctx.now(), title: "L" });`
	for name, c := range map[string]struct {
		shop   shop
		prep   func(*life)
		reason decide.Reason
	}{
		"maintenance": {shop{prepare: broken("read"), producer: producer}, func(*life) {}, decide.ReasonMaintenance},
		"uncertain": {shop{mutate: fires, producer: producer}, func(l *life) {
			l.sends(lost)
		}, decide.ReasonIndeterminate},
		"a failed call": {shop{producer: producer}, func(l *life) {
			l.sends(definitely(eventlog.Precondition))
		}, decide.ReasonBlocked},
	} {
		t.Run(name, func(t *testing.T) {
			l := live(t)
			l.deploy(c.shop)
			c.prep(l)
			l.push("a")
			l.wantWhy(c.reason)
			polls, runs := len(l.runs("poll")), len(l.runs("send"))
			l.push("b", "c")
			l.advance("3h") // the producer is due three times over
			if len(l.runs("poll")) != polls || len(l.runs("send")) != runs {
				t.Errorf("something ran: %d polls, %d runs", len(l.runs("poll"))-polls, len(l.runs("send"))-runs)
			}
			l.wantEvent("b", "pending")
			l.wantWhy(c.reason)
			l.sound()
		})
	}
}

// The lists show what failed and why, by class and text.
func TestFailuresCanBeFound(t *testing.T) {
	l := live(t)
	l.deploy(shop{prepare: broken("read")})
	l.push("a")
	var runs readmodel.Page[readmodel.Run]
	if l.do("listRuns", &runs, "status", "failed:logic", "q", "CANNOT READ"); len(runs.Items) != 1 ||
		runs.Items[0].Error.Line == nil {
		t.Errorf("found %+v", runs.Items)
	}
	var all readmodel.Page[explain.Why]
	if l.do("explainAll", &all); len(all.Items) != 1 || *all.Items[0].Reason != decide.ReasonMaintenance {
		t.Errorf("why: %+v", all.Items)
	}
	l.sound()
}
