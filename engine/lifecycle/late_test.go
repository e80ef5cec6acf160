package lifecycle_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// F12: a reply that comes after the timeout settles what is open, and contradicts what is final.
func TestLateReply(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for real seconds")
	}
	t.Run("settles", func(t *testing.T) {
		l := live(t)
		reply := l.replyLate()
		changed := l.follow("mutation.applied")
		reply <- connector.Outcome{Status: connector.Applied, Result: json.RawMessage(`{"n":1}`)}
		changed()
		l.rest()
		l.wantMutation("applied late_reply")
		l.wantEvent("a", "consumed")
		l.wantReceipt("a", "applied")
		l.wantWorkflow("active")
		l.wantSent(1)
		l.sound()
	})
	t.Run("contradicts", func(t *testing.T) {
		l := live(t)
		reply := l.replyLate()
		l.do("resolveMutation", nil, "mutation", l.mutation().ID, "resolution", "skip")
		l.rest()
		l.wantEvent("a", "skipped")
		changed := l.follow("mutation.contradicted")
		reply <- connector.Outcome{Status: connector.Applied, Result: json.RawMessage(`{"n":1}`)}
		changed()
		l.rest()
		l.wantMutation("failed user_skip")
		l.wantEvent("a", "skipped")
		l.wantWorkflow("error contradiction")
		l.wantWhy(decide.ReasonBlocked)
		var d struct{ Contradictions []struct{ Message string } }
		if l.do("getDiagnostics", &d); len(d.Contradictions) != 1 {
			t.Errorf("diagnostics: %+v", d)
		}
		l.do("resumeWorkflow", nil)
		l.wantWorkflow("active")
		l.sound()
	})
}

// replyLate brings an order to a call whose answer comes only when the test gives it, long after
// the call has ended with its outcome unknown.
func (l *life) replyLate() chan<- connector.Outcome {
	l.t.Helper()
	l.world.Offer(connector.Operation{Name: "fire", Kind: connector.Mutate, Timeout: time.Second},
		connector.Operation{Name: "list", Kind: connector.List})
	reply := make(chan connector.Outcome)
	l.world.OnPerform(func(ctx context.Context, call connector.Call) connector.Outcome {
		_ = l.perform(ctx, call)
		return <-reply
	})
	l.restart()
	l.deploy(shop{mutate: fires})
	l.push("a") // rests at the deadline
	l.wantMutation("indeterminate")
	return reply
}

// follow returns a wait for the next transition of a kind.
func (l *life) follow(kind eventlog.FactType) (wait func()) {
	l.t.Helper()
	last, err := l.below.Last(l.t.Context(), 0)
	if err != nil {
		l.t.Fatal(err)
	}
	return func() {
		l.t.Helper()
		ctx, cancel := context.WithTimeout(l.t.Context(), 30*time.Second)
		defer cancel()
		for r, err := range l.below.Watch(ctx, 0, last+1) {
			if err != nil {
				l.t.Fatalf("no %s came: %v", kind, err)
			}
			if r.Kind == kind {
				return
			}
		}
	}
}
