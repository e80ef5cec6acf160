package lifecycle_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// indeterminate brings an order to a mutation whose outcome cannot be found out.
func (l *life) indeterminate() readmodel.Mutation {
	l.t.Helper()
	l.sends(lost)
	l.push("a")
	return l.wantMutation("indeterminate")
}

// asking brings an order to a call that awaits approval.
func (l *life) asking(s shop) readmodel.Mutation {
	l.t.Helper()
	l.do("deployWorkflow", nil, "source", s.source(), "filename", "shop.ts")
	l.push("a")
	l.wantWhy(decide.ReasonApproval)
	return l.wantMutation("awaiting_approval")
}

// O2: the events of a skipped mutation stay skipped even if next fails.
func TestSkippedStaysSkipped(t *testing.T) {
	l := live(t)
	l.deploy(shop{mutate: fires, next: broken("publish")})
	m := l.indeterminate()
	l.do("resolveMutation", nil, "mutation", m.ID, "resolution", "skip")
	if after := l.mutation(); m.Error == nil || after.Error == nil || *after.Error != *m.Error {
		t.Errorf("the reason of the unknown outcome was %+v and is now %+v", m.Error, after.Error)
	}
	l.rest()
	l.wantEvent("a", "skipped")
	l.wantWorkflow("active maintenance retry")
	l.repair(shop{mutate: fires})
	l.wantEvent("a", "skipped")
	l.wantReceipt("a", "skipped")
	l.wantWorkflow("active")
	l.sound()
}

// O3: try again asks the connector again, with all attempts; without a reconcile it is refused.
func TestTryAgain(t *testing.T) {
	l := live(t)
	l.deploy(shop{})
	l.reconciles(connector.VerdictRetry)
	l.sends(lost)
	l.push("a")
	l.advance("1h")
	m := l.wantMutation("indeterminate")
	asked := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.asked
	}
	before := asked()
	l.do("resolveMutation", nil, "mutation", m.ID, "resolution", "try_again")
	l.advance("1h")
	l.wantMutation("indeterminate")
	if got, want := asked()-before, schedule.Default().Reconcile.Attempts; got != want {
		t.Errorf("asked %d times more, want %d: the attempts start again", got, want)
	}
	l.do("resolveMutation", nil, "mutation", m.ID, "resolution", "try_again")
	l.reconciles(connector.VerdictApplied)
	l.advance("1h")
	l.wantMutation("applied reconcile")
	l.wantEvent("a", "consumed")
	l.wantWorkflow("active")
	l.wantSent(1)
	l.sound()

	other := liveOn(t, memlog.New(memlog.Config{}))
	other.deploy(shop{mutate: fires})
	other.refused("mutation.noReconcile", "resolveMutation", "mutation", other.indeterminate().ID, "resolution",
		"try_again")
	other.sound()
}

// O4: it happened. Nothing is sent again, and next runs with what the person says that the call answered.
func TestO4_ItHappened(t *testing.T) {
	for given, want := range map[string]string{`{"id": 7}`: `{"id":7}`, "": "null"} {
		l := liveOn(t, memlog.New(memlog.Config{}))
		l.deploy(shop{mutate: fires})
		m := l.indeterminate()
		params := []any{"mutation", m.ID, "resolution", "did_happen"}
		if given != "" {
			params = append(params, "result", json.RawMessage(given))
		}
		l.do("resolveMutation", nil, params...)
		l.rest()
		settled := l.wantMutation("applied user_assert_applied")
		if got := strings.ReplaceAll(string(settled.Result), " ", ""); got != want {
			t.Errorf("the result is %s, want %s", got, want)
		}
		l.wantEvent("a", "consumed")
		l.wantReceipt("a", "applied")
		l.wantWorkflow("active")
		l.wantSent(1)
		l.refused("mutation.state", "resolveMutation", "mutation", m.ID, "resolution", "did_happen")
		l.sound()
	}
	l := liveOn(t, memlog.New(memlog.Config{}))
	l.deploy(shop{mutate: fires})
	l.refused("resolution.result", "resolveMutation", "mutation", l.indeterminate().ID, "resolution", "skip", "result",
		json.RawMessage("1"))
	l.sound()
}

// O11: an event that was skipped with a mutation whose outcome was not known is redriven only when that is
// asked for by name; one by one and in bulk, also by a count.
func TestO11_RedriveOfWhatMayHaveHappened(t *testing.T) {
	l := live(t)
	l.deploy(shop{mutate: fires})
	l.do("resolveMutation", nil, "mutation", l.indeterminate().ID, "resolution", "skip")
	l.rest()
	l.wantEvent("a", "skipped")
	l.refused("redrive.unknown", "redriveEvent", "topic", "orders", "messageId", "a")
	l.refused("redrive.unknown", "redriveEvents", "state", "cancelled")
	l.refused("redrive.unknown", "redriveEvents", "state", "cancelled", "dryRun", true)
	l.wantEvent("a", "skipped")
	l.do("redriveEvents", nil, "state", "cancelled", "includingUnknown", true)
	l.rest()
	l.wantSent(2)
	l.sound()
}

// F14: parameters that break the pinned schema are seen before anything starts: the ledger has the call as
// failed and never sent.
func TestF14_ParametersThatDoNotFit(t *testing.T) {
	l := live(t)
	l.close()
	l.world.Offer(connector.Operation{Name: "send", Kind: connector.Mutate, Reconciles: true,
		Schema: json.RawMessage(`{"required":["nowhere"]}`)})
	l.boot()
	l.do("deployWorkflow", nil, "source",
		shop{mutate: `await ctx.world.send(JSON.parse(JSON.stringify({ order: data.order })));`}.source(), "filename",
		"shop.ts", "grants", map[string]string{"*": "allow"})
	l.push("a")
	l.wantWorkflow("active maintenance")
	m := l.wantMutation("failed never_sent")
	if m.StartedAt != 0 || m.SettledAt == 0 {
		t.Errorf("a call that was never sent started at %s and is settled at %s", m.StartedAt, m.SettledAt)
	}
	l.wantRun("mutating failed:logic failure")
	l.wantSent(0)
	l.sound()
}

// F14 for limits: a call whose parameters are too large is in the ledger too, with a marker in their place.
func TestF14_ParametersAboveTheLimit(t *testing.T) {
	for name, begin := range map[string]func(*testing.T, ...func(*schedule.Policies)) *life{"here": live,
		"in a worker": staffed} {
		t.Run(name, func(t *testing.T) {
			l := begin(t, func(p *schedule.Policies) { p.Script.Result = 300 })
			l.deploy(shop{mutate: `await ctx.world.send({ order: data.order, text: "x".repeat(400) });`})
			l.push("a")
			m := l.wantMutation("failed never_sent")
			if m.StartedAt != 0 || m.SettledAt == 0 || m.Operation != "send" ||
				string(m.Params) != `{"truncated":true,"bytes":423}` || m.ParamsHash != "" {
				t.Errorf("the call in the ledger: %+v, parameters %s", m, m.Params)
			}
			if m.Error == nil || m.Error.Code != "limit.result" || m.Error.Class != eventlog.Logic || m.Error.Line == nil {
				t.Errorf("its error: %+v", m.Error)
			}
			failed := l.wantRun("mutating failed:logic failure")
			if failed.Error.Code != "limit.result" || failed.Mutation == nil || *failed.Mutation != m.ID {
				t.Errorf("its run: %+v", failed)
			}
			l.wantEvent("a", "pending")
			l.wantWorkflow("active maintenance")
			l.wantSent(0)
			l.repair(shop{})
			l.wantRun("committed committed success")
			l.wantSent(1)
			l.sound()
		})
	}
}

// O4: the four act on indeterminate only.
func TestResolveActsOnIndeterminateOnly(t *testing.T) {
	l := live(t)
	l.deploy(shop{})
	l.push("a")
	for _, resolution := range []string{"did_happen", "did_not_happen", "skip", "try_again"} {
		l.refused("mutation.state", "resolveMutation", "mutation", l.mutation().ID, "resolution", resolution)
	}
	l.deploy(shop{mutate: fires})
	l.sends(lost)
	l.push("b")
	l.wantMutation("indeterminate")
	l.refused("resolution.unknown", "resolveMutation", "mutation", l.mutation().ID, "resolution", "happened")
	l.refused("mutation.unknown", "resolveMutation", "mutation", "01AAAAAAAAAAAAAAAAAAAAAAAA", "resolution", "skip")
	l.sound()
}

// O5: a call that asks stops before it leaves; approved, exactly its recorded bytes leave, once, and
// no script code runs for it. A restart changes nothing about it.
func TestApprove(t *testing.T) {
	l := live(t)
	m := l.asking(shop{})
	l.wantWorkflow("error approval")
	l.wantRun("mutating paused:approval none")
	l.wantEvent("a", "reserved")
	l.wantSent(0)
	l.restart()
	l.rest()
	l.wantMutation("awaiting_approval")
	l.refused("approval.changed", "approveMutation", "mutation", m.ID, "paramsHash", strings.Repeat("0", 64))
	l.do("pauseWorkflow", nil)
	l.refused("workflow.paused", "approveMutation", "mutation", m.ID)
	l.do("resumeWorkflow", nil)
	l.wantMutation("awaiting_approval") // resuming approves nothing
	prepares := len(l.runs("send"))
	l.do("approveMutation", nil, "mutation", m.ID, "paramsHash", m.ParamsHash)
	l.rest()
	l.wantMutation("applied")
	if got := l.world.Params(); len(got) != 1 || string(got[0]) != string(m.Params) {
		t.Errorf("sent %s, recorded %s", got, m.Params)
	}
	// and one empty run
	if r := l.wantRun("committed committed success"); r.RetryOf != nil || len(l.runs("send")) != prepares+1 {
		t.Errorf("not the same run: %+v", r)
	}
	l.wantEvent("a", "consumed")
	l.refused("mutation.state", "approveMutation", "mutation", m.ID)
	l.wantSent(1)
	l.sound()
}

// O5: approval is the barrier: a crash after it is a crash in flight.
func TestCrashAfterApproval(t *testing.T) {
	l := live(t)
	m := l.asking(shop{})
	l.sends(l.crashes(lostApplied))
	l.do("approveMutation", nil, "mutation", m.ID)
	l.died()
	l.rest()
	l.wantRun("mutating paused:reconciliation none")
	l.advance("1m")
	l.wantMutation("applied reconcile")
	l.wantEvent("a", "consumed")
	l.wantSent(1)
	l.sound()
}

// O5: rejected, the same run tells next that it was skipped; its events are skipped.
func TestReject(t *testing.T) {
	l := live(t)
	m := l.asking(shop{})
	before := l.run("send")
	l.do("rejectMutation", nil, "mutation", m.ID)
	l.rest()
	l.wantMutation("failed user_reject")
	if r := l.wantRun("committed committed skipped"); r.ID != before.ID {
		t.Errorf("another run: %+v", r)
	}
	l.wantEvent("a", "skipped")
	l.wantReceipt("a", "skipped")
	l.wantWorkflow("active")
	l.wantSent(0)
	l.sound()
}

// O6: a pause takes effect at the run's end; what came in meanwhile waits. Archive stops for good.
func TestPauseResumeArchive(t *testing.T) {
	l := live(t)
	l.deploy(shop{})
	letGo := l.inFlight()
	l.do("pauseWorkflow", nil)
	letGo()
	l.rest()
	l.wantEvent("a", "consumed") // the run under way ends
	l.push("b")
	l.wantEvent("b", "pending")
	l.wantWorkflow("paused")
	l.wantWhy(decide.ReasonUserPause)
	l.restart()
	l.rest()
	l.wantWorkflow("paused")
	l.do("resumeWorkflow", nil)
	l.rest()
	l.wantEvent("b", "consumed")
	l.do("archiveWorkflow", nil)
	l.wantWhy(decide.ReasonArchived)
	l.refused("workflow.archived", "runWorkflow")
	l.refused("workflow.archived", "pushEvents", "topic", "orders", "events",
		map[string]any{"messageId": "c", "title": "C"})
	l.refused("workflow.archived", "deployWorkflow", "source", shop{}.source()) // O9
	l.wantEvent("b", "consumed")                                                // its history stays
	l.sound()
}

// O6: a run that has begun goes on to its end, also one that had chosen no event yet: its call is made.
func TestPauseWhilePreparing(t *testing.T) {
	l := live(t)
	l.deploy(shop{prepare: `await ctx.world.list({});`})
	reading, gate := make(chan struct{}), make(chan struct{})
	l.world.OnRead(func(connector.Call) (json.RawMessage, error) {
		close(reading)
		<-gate
		return json.RawMessage(`[]`), nil
	})
	l.pushed("a")
	<-reading
	l.do("pauseWorkflow", nil)
	l.pushed("b")
	close(gate)
	l.rest()
	l.wantEvent("a", "consumed")
	l.wantEvent("b", "pending")
	l.wantSent(1)
	l.wantWhy(decide.ReasonUserPause)
	l.sound()
}

// O6: resume clears the system's error, and never an unresolved mutation.
func TestResumeKeepsWhatIsUnresolved(t *testing.T) {
	l := live(t)
	l.deploy(shop{mutate: fires})
	m := l.indeterminate()
	l.do("resumeWorkflow", nil)
	l.rest()
	l.wantWorkflow("paused indeterminate retry")
	l.do("archiveWorkflow", nil)
	l.wantMutation("indeterminate")
	l.wantEvent("a", "reserved")
	l.do("resolveMutation", nil, "mutation", m.ID, "resolution", "did_not_happen")
	l.rest()
	l.wantEvent("a", "pending")
	l.wantSent(1)
	l.sound()
}

// O7: what skipping an event does depends on what its run has come to.
func TestSkipEvent(t *testing.T) {
	skip := func(l *life) { l.do("skipEvent", nil, "topic", "orders", "messageId", "a", "reason", "not ours") }
	both := shop{
		prepare: `const all = await ctx.peek("orders"); ` +
			`return { reservations: [{ topic: "orders", ids: all.map((o) => o.id) }], data: { order: order.id } };`,
	}
	t.Run("unresolved", func(t *testing.T) {
		l := live(t)
		l.deploy(shop{mutate: fires})
		l.indeterminate()
		if p := l.refused("mutation.unresolved", "skipEvent", "topic", "orders", "messageId", "a"); !strings.Contains(p.Hint,
			"pawl mutations show") {
			t.Errorf("the hint: %q", p.Hint)
		}
		l.wantEvent("a", "reserved")
		l.sound()
	})
	t.Run("awaiting approval", func(t *testing.T) {
		l := live(t)
		l.do("deployWorkflow", nil, "source", both.source(), "filename", "shop.ts")
		l.do("pauseWorkflow", nil)
		l.push("a", "b")
		l.do("resumeWorkflow", nil)
		l.rest()
		first := l.wantMutation("awaiting_approval")
		skip(l)
		l.rest()
		if m := l.mutations()[0]; m.ID != first.ID || m.Status != "failed" || *m.ResolvedBy != "user_skip" {
			t.Errorf("the mutation: %+v", m)
		}
		l.wantEvent("a", "skipped")
		l.wantEvent("b", "reserved") // by a fresh run, which asks again
		l.wantMutation("awaiting_approval")
		l.wantSent(0)
		l.sound()
	})
	t.Run("reserved before the mutation", func(t *testing.T) {
		l := live(t)
		both := both
		both.options, both.mutate = `mutateReads: "byId",`, `await ctx.world.get({ id: data.order });`+call
		reached, gate := make(chan struct{}), make(chan struct{})
		first := true
		l.world.OnRead(func(connector.Call) (json.RawMessage, error) {
			if first {
				first = false
				close(reached)
				<-gate
			}
			return json.RawMessage(`{}`), nil
		})
		l.deploy(both)
		l.do("pauseWorkflow", nil)
		l.push("a", "b")
		l.do("resumeWorkflow", nil)
		<-reached
		skip(l)
		close(gate)
		l.rest()
		l.wantEvent("a", "skipped")
		l.wantEvent("b", "consumed")
		l.wantSent(1)
		l.sound()
	})
	t.Run("after the mutation", func(t *testing.T) {
		l := live(t)
		l.deploy(shop{next: broken("publish")})
		l.push("a")
		skip(l)
		skip(l) // the same again is no error
		l.wantEvent("a", "reserved")
		l.repair(shop{})
		l.wantEvent("a", "skipped")
		l.wantReceipt("a", "applied")
		l.wantSent(1)
		l.sound()
	})
	t.Run("pending", func(t *testing.T) {
		l := live(t)
		l.deploy(shop{})
		l.do("pauseWorkflow", nil)
		l.push("a")
		skip(l)
		l.wantEvent("a", "skipped")
		l.sound()
	})
}

// O9: a deploy keeps topics, events and state; it may not drop what a run still holds.
func TestRedeploy(t *testing.T) {
	l := live(t)
	l.deploy(shop{next: broken("publish")})
	l.push("a")
	held := l.run("send")
	without := strings.NewReplacer(`subscribe: ["orders"]`, `subscribe: ["letters"]`, `ctx.peek("orders"`,
		`ctx.peek("letters"`, `topic: "orders"`, `topic: "letters"`).Replace(shop{}.source())
	if p := l.refused("deploy.holds", "deployWorkflow", "source", without, "filename",
		"shop.ts"); !strings.Contains(p.Detail, string(held.ID)) {
		t.Errorf("the run is not named: %s", p.Detail)
	}
	l.push("b")
	l.deploy(shop{})
	retry := l.wantRun("committed committed success")
	if retry.Version != "2.0" || held.Version != "1.0" {
		t.Errorf("versions %s and %s", held.Version, retry.Version)
	}
	l.wantEvent("a", "consumed")
	l.wantEvent("b", "consumed")
	l.do("deployWorkflow", nil, "source", without, "filename", "shop.ts") // nothing is held any more
	l.wantSent(2)
	l.sound()
}

// O10: every action of a person is a transition with the person's name.
func TestActionsAreOnRecord(t *testing.T) {
	l := live(t)
	l.deploy(shop{mutate: fires})
	m := l.indeterminate()
	l.do("resolveMutation", nil, "mutation", m.ID, "resolution", "skip")
	l.rest()
	l.do("pauseWorkflow", nil)
	l.push("b", "c")
	l.do("cancelEvent", nil, "topic", "orders", "messageId", "b")
	l.do("redriveEvent", nil, "topic", "orders", "messageId", "b")
	l.do("skipEvents", nil, "items", []any{map[string]any{"topic": "orders", "messageId": "b"}})
	l.do("resumeWorkflow", nil)
	l.do("setGrants", nil, "grants", map[string]any{"*": "allow"})
	l.rest()
	l.do("archiveWorkflow", nil)
	by := map[eventlog.FactType]string{}
	for r, err := range l.below.ReadWorkflow(context.Background(), "shop", 1) {
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Facts {
			if by[f.FactType()] != "ann" {
				by[f.FactType()] = r.Actor.Name
			}
		}
	}
	for _, kind := range []eventlog.FactType{
		"workflow.deployed", "event.published", "mutation.skipped", "workflow.paused", "event.skipped", "event.redriven",
		"workflow.resumed", "workflow.granted", "workflow.archived",
	} {
		if by[kind] != "ann" {
			t.Errorf("%s was done by %q", kind, by[kind])
		}
	}
	l.sound()
}
