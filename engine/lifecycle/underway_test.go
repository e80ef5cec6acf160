package lifecycle_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// holdOpen brings an order to a call that is still open when its time is over, and stays so until the
// test gives it an end. So much time passes meanwhile.
func (l *life) holdOpen(reconciles bool, passes time.Duration) chan<- outcome {
	l.t.Helper()
	l.world.Offer(connector.Operation{Name: "send", Kind: connector.Mutate, Reconciles: reconciles,
		Timeout: 50 * time.Millisecond}, connector.Operation{Name: "list", Kind: connector.List})
	end := make(chan outcome)
	first := sync.OnceValue(func() outcome { return <-end })
	l.world.OnPerform(func(ctx context.Context, call connector.Call) connector.Outcome {
		l.mu.Lock()
		again := len(l.sent) > 0
		l.mu.Unlock()
		if again {
			return l.perform(ctx, call)
		}
		_ = l.perform(ctx, call)
		if passes > 0 {
			l.clock.Resume(l.clock.Now().Add(passes))
		}
		return first()(l.world, call)
	})
	l.sends(lost)
	l.restart()
	l.deploy(shop{})
	l.push("a") // rests at the deadline
	return end
}

// happens ends the open call with its effect, which was asked for once.
func (l *life) happens(end chan<- outcome) {
	l.t.Helper()
	changed := l.follow("mutation.applied")
	end <- applied
	changed()
	l.rest()
	l.wantMutation("applied late_reply")
	l.wantEvent("a", "consumed")
	l.wantSent(1)
	l.sound()
}

// F5, F12: while a call is open, a reconcile that finds no trace of it proves nothing: the request may
// still take effect. It counts as "not known yet", however often and however long after the deadline.
func TestF05_NoTraceOfAnOpenCallProvesNothing(t *testing.T) {
	t.Run("then it takes effect", func(t *testing.T) {
		l := live(t)
		end := l.holdOpen(true, 0)
		l.advance("3h")
		if m := l.wantMutation("needs_reconcile"); m.ReconcileAttempts != 0 {
			t.Errorf("%d attempts were counted", m.ReconcileAttempts)
		}
		l.wantEvent("a", "reserved")
		l.wantWhy(decide.ReasonReconcile)
		l.wantSent(1)
		l.happens(end)
	})
	t.Run("then it ends without an answer", func(t *testing.T) {
		l := live(t)
		end := l.holdOpen(true, 0)
		l.advance("1h")
		l.wantMutation("needs_reconcile")
		changed := l.follow("mutation.failed")
		end <- lost
		for l.mutations()[0].Status == eventlog.MutationStatusNeedsReconcile { // it ends at a moment of its own
			l.advance("1m")
		}
		changed()
		l.wantSent(2) // a fresh run's own
		l.wantEvent("a", "consumed")
		l.sound()
	})
}

// O1, F5: while a call is open its person cannot know that it did not happen: a run that asked for it again would do it
// twice. Without a way to ask its connector it is indeterminate at its deadline all the same.
func TestO1_AnOpenCallMayHappenYet(t *testing.T) {
	refused := func(l *life) {
		problem := l.refused("mutation.open", "resolveMutation", "mutation", l.wantMutation("indeterminate").ID,
			"resolution", "did_not_happen")
		if !strings.Contains(problem.Detail, "can take effect yet") {
			t.Errorf("the refusal says %q", problem.Detail)
		}
		why := l.wantWhy(decide.ReasonIndeterminate)
		if said := strings.Join(why.Commands, "\n"); strings.Contains(said, "did-not-happen") ||
			!strings.Contains(said, " --happened") || !strings.Contains(said, " --skip") ||
			!strings.Contains(why.Message, "You can say that it did not happen ") {
			t.Errorf("what is refused is offered: %q, %s", why.Commands, why.Message)
		}
		l.wantEvent("a", "reserved")
	}
	t.Run("then it takes effect", func(t *testing.T) {
		l := live(t)
		end := l.holdOpen(false, 0)
		refused(l)
		l.advance("3h")
		refused(l)
		l.happens(end)
	})
	t.Run("its process dies", func(t *testing.T) {
		l := live(t)
		l.world.Ending = connector.DefaultEnding()
		end := l.holdOpen(false, 50*time.Millisecond)
		refused(l)
		l.log.Kill()
		end <- outcomeFunc(func(connector.Call) connector.Outcome { // nothing records it any more
			return connector.FailedWith(&eventlog.Failure{Class: eventlog.Transient, Code: "world.no", Message: "no"})
		})
		l.died()
		l.rest()
		refused(l)
		l.advance((connector.DefaultEnding().Lasting + decide.ReconcileMargin - time.Second).String())
		refused(l)
		from := l.clock.Now().Add(time.Second).UTC().Format("2006-01-02T15:04:05")
		if why := l.why(); !strings.Contains(why.Message, "did not happen from "+from) {
			t.Errorf("it does not say that it can be from %s on: %s", from, why.Message)
		}
		l.advance("2s") // the call's timeout, too
		if why := l.why(); !strings.Contains(strings.Join(why.Commands, "\n"), "--did-not-happen") {
			t.Errorf("what is taken is not offered: %q, %s", why.Commands, why.Message)
		}
		l.do("resolveMutation", nil, "mutation", l.mutation().ID, "resolution", "did_not_happen")
		l.rest()
		l.wantEvent("a", "consumed")
		l.wantSent(2)
		l.sound()
	})
	t.Run("a person goes on without it", func(t *testing.T) {
		l := live(t)
		end := l.holdOpen(false, 0)
		refused(l)
		l.do("resolveMutation", nil, "mutation", l.mutation().ID, "resolution", "skip")
		l.rest()
		l.wantEvent("a", "skipped")
		l.wantSent(1)
		end <- lost
		l.sound()
	})
}

// O3: a connector that could not be asked when the call was made, and has got a way since, is asked once a person
// says so. Nothing is sent.
func TestO3_AConnectorThatCanBeAskedSince(t *testing.T) {
	l := live(t)
	l.deploy(shop{mutate: fires})
	m := l.indeterminate()
	again := "pawl resolve " + string(m.ID) + " --ask-again"
	if why := l.wantWhy(decide.ReasonIndeterminate); slices.Contains(why.Commands, again) {
		t.Errorf("it cannot be asked: %q", why.Commands)
	}
	l.refused("mutation.noReconcile", "resolveMutation", "mutation", m.ID, "resolution", "try_again")

	l.close()
	l.world.Offer(connector.Operation{Name: "list", Kind: connector.List},
		connector.Operation{Name: "fire", Kind: connector.Mutate, Reconciles: true, Timeout: 5 * time.Second})
	l.reconciles(connector.VerdictRetry)
	l.boot()
	l.rest()
	l.wantMutation("indeterminate") // nothing is asked before a person says so
	why := l.wantWhy(decide.ReasonIndeterminate)
	if !slices.Contains(why.Commands, again) ||
		!strings.Contains(why.Message, "but now it can. Pawl believes it if") {
		t.Errorf("it can be asked: %q, %s", why.Commands, why.Message)
	}
	l.do("resolveMutation", nil, "mutation", m.ID, "resolution", "try_again")
	l.rest()
	l.wantMutation("needs_reconcile")
	l.restart() // the log remembers that it can be asked, and since when
	l.reconciles(connector.VerdictFailed)
	l.advance("2h")
	l.wantMutation("indeterminate") // no trace at the other side proves nothing
	l.wantEvent("a", "reserved")
	l.wantSent(1)
	l.do("resolveMutation", nil, "mutation", m.ID, "resolution", "try_again")
	l.rest()
	l.reconciles(connector.VerdictApplied)
	l.advance("10m")
	l.wantMutation("applied reconcile")
	l.wantEvent("a", "consumed")
	l.wantSent(1)
	l.sound()
}

// F5: a call that has ended without an answer may go on at the other side for a while.
func TestF05_QuietAfterTheEndOfACall(t *testing.T) {
	l := live(t)
	l.deploy(shop{})
	l.sends(lost)
	l.push("a")
	l.wantMutation("needs_reconcile") // although it was asked at once and says that nothing happened
	l.advance("4s")
	l.wantMutation("needs_reconcile")
	l.wantSent(1)
	l.advance("3s")
	if m := l.mutations()[0]; m.Status != "failed" || *m.ResolvedBy != eventlog.ResolvedByReconcile {
		t.Errorf("the mutation: %+v", m)
	}
	l.sound()
}

// F5, O4: the call of a process that is gone is resolvable by a person only when nothing of it can be
// under way any more; until then it is said when that is.
func TestF05_ACallOfAnotherProcessIsResolvableWhenItIsOver(t *testing.T) {
	l := live(t)
	l.world.Ending = connector.DefaultEnding()
	l.deploy(shop{mutate: fires})
	l.sends(l.crashes(lost))
	l.pushed("a")
	l.clock.Resume(start.Add(3 * time.Second)) // nothing runs for a while
	l.died()
	l.rest()
	// the timeout of fire
	over := start.Add(3*time.Second + 5*time.Second + decide.ReconcileMargin + connector.DefaultEnding().Unseen)
	m := l.wantMutation("needs_reconcile")
	why := l.wantWhy(decide.ReasonReconcile)
	if !why.Until.Time().Equal(over) || !strings.Contains(why.Message, over.Format(time.RFC3339)) {
		t.Errorf("why, until %s: %s; want %s", why.Until, why.Message, over)
	}
	for _, resolution := range []string{"did_not_happen", "skip"} {
		problem := l.refused("mutation.state", "resolveMutation", "mutation", m.ID, "resolution", resolution)
		if !strings.Contains(problem.Hint, over.Format(time.RFC3339)) {
			t.Errorf("%s: the hint is %q", resolution, problem.Hint)
		}
	}
	l.advance("10s")
	l.wantMutation("needs_reconcile")
	if now := l.wantWhy(decide.ReasonReconcile).Until; now != why.Until {
		t.Errorf("why said %s and now says %s", why.Until, now)
	}
	l.advance("1s")
	if m := l.wantMutation("indeterminate"); m.ReconcileAttempts != 0 {
		t.Errorf("%d attempts, though the connector was never asked", m.ReconcileAttempts)
	}
	l.do("resolveMutation", nil, "mutation", m.ID, "resolution", "did_not_happen")
	l.rest()
	l.wantEvent("a", "consumed")
	l.sound()
}

// F6: the engine looks a last time when the connector is about to write: here its clock passes the
// deadline while the connection is made.
func TestF06_TheDeadlineIsLookedAtWhenTheConnectorWrites(t *testing.T) {
	l := live(t)
	slow := sync.OnceFunc(func() { l.clock.Resume(start.Add(10 * time.Second)) })
	l.world.OnPerform(func(ctx context.Context, call connector.Call) connector.Outcome {
		slow()
		if failure := connector.MayLeave(ctx, call); failure != nil {
			return connector.FailedWith(failure)
		}
		return l.perform(ctx, call)
	})
	l.deploy(shop{})
	l.push("a")
	if m := l.mutations()[0]; m.Status != "failed" || *m.ResolvedBy != eventlog.ResolvedByNeverSent ||
		m.Error.Class != eventlog.Transient {
		t.Errorf("the mutation: %+v", m)
	}
	l.advance("5s")
	l.wantEvent("a", "consumed")
	l.wantSent(1) // by a fresh run
	l.sound()
}
