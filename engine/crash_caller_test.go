package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/projections"
)

// caller gives commands one after the other, and can be made to hang up during one.
type caller struct {
	t      *testing.T
	engine *enginetest.Engine

	mu       sync.Mutex
	hangUp   context.CancelFunc // of the command that is under way
	returned chan struct{}      // closed when it has come back
	left     bool               // it hung up
}

// give gives a command. It reports whether the caller is still there.
func (c *caller) give(name string, command func(context.Context) error) bool {
	c.t.Helper()
	ctx, hangUp := context.WithCancel(c.t.Context())
	defer hangUp()
	returned := make(chan struct{})
	c.mu.Lock()
	c.hangUp, c.returned = hangUp, returned
	c.mu.Unlock()
	err := command(ctx)
	close(returned)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hangUp = nil
	if err != nil && !(c.left && errors.Is(err, engine.ErrUnavailable)) {
		c.t.Fatalf("%s: %v", name, err)
	}
	return err == nil
}

// leave hangs up. If the append is the caller's own it returns once the caller has come back, or the append
// is to end.
func (c *caller) leave(ctx context.Context, own bool) {
	c.mu.Lock()
	hangUp, returned := c.hangUp, c.returned
	if hangUp != nil {
		c.left = true
		hangUp()
	}
	c.mu.Unlock()
	if hangUp != nil && own {
		select {
		case <-returned:
		case <-ctx.Done():
		}
	}
}

// commands deploys, pushes, pauses, resumes and approves until all orders are done. A client that has hung up comes
// back only after everything that the log holds was processed: what is left behind must not need that.
func (c *caller) commands(b *enginetest.Harness, approving bool) {
	c.t.Helper()
	e := c.engine
	operate := func(what string, cmd func() decide.Command, done func(*projections.State) bool) {
		c.t.Helper()
		for {
			if s, _ := e.State("orders"); done(&s) {
				return
			}
			if c.give(what, func(ctx context.Context) error {
				return e.Operate(ctx, enginetest.Tester, "orders", cmd(), what)
			}) {
				return
			}
			dealtWith(c.t, b, e)
		}
	}
	for !c.give("deploy", func(ctx context.Context) error {
		_, err := e.Deploy(ctx, enginetest.Tester, engine.DeployRequest{Source: ordersWorkflow, Filename: "orders.ts",
			GrantUsed: true})
		return err
	}) {
		dealtWith(c.t, b, e)
	}
	if approving {
		grants := map[string]eventlog.Grant{"world.send": eventlog.GrantAsk, "*": eventlog.GrantAllow}
		operate("grants", func() decide.Command {
			return decide.SetGrants{Grants: grants}
		}, func(s *projections.State) bool { return s.Grants["world.send"] == eventlog.GrantAsk })
		operate("pause", func() decide.Command {
			return decide.Pause{}
		}, func(s *projections.State) bool { return s.Pause != nil })
	}
	for _, id := range orders {
		item := decide.PushItem{MessageID: eventlog.MessageID(id), Title: "Order", Payload: []byte(`{"id":"` + id + `"}`)}
		for !c.give("push", func(ctx context.Context) error {
			_, err := e.Push(ctx, enginetest.Tester, "orders", "order.in", []decide.PushItem{item})
			return err
		}) {
			dealtWith(c.t, b, e)
		}
	}
	if !approving {
		return
	}
	operate("resume", func() decide.Command {
		return decide.Resume{}
	}, func(s *projections.State) bool { return s.Pause == nil })
	for {
		e.Rest("orders")
		wait, _ := e.Why("orders")
		if wait == nil || wait.Reason != decide.ReasonApproval {
			return
		}
		id := eventlog.MutationID(wait.Subject)
		operate("approve", func() decide.Command { return decide.Approve{Mutation: id} }, func(s *projections.State) bool {
			m := s.Mutation(id)
			return m == nil || m.Status != eventlog.MutationStatusAwaitingApproval
		})
	}
}

// dealtWith holds that all that the log holds is dealt with, and nothing is left to the next command.
func dealtWith(t *testing.T, b *enginetest.Harness, e *enginetest.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := e.WaitIdle(ctx); err != nil {
		t.Fatalf("the engine does not come to rest: %v", err)
	}
	last, err := b.Log.Last(ctx, 0)
	if err != nil || e.ProcessedSeq(0) != last {
		t.Fatalf("reached is %d, the log ends at %d (%v)", e.ProcessedSeq(0), last, err)
	}
	if ahead, _ := e.Held(); ahead != 0 {
		t.Fatalf("memory holds %d stretches beyond a gap", ahead)
	}
	full := b.FullFold("orders")
	for _, event := range full.Events() {
		free := full.Pause == nil && full.Grants["world.send"] != eventlog.GrantAsk
		if free && event.Topic == "order.in" && event.Status != eventlog.EventStatusConsumed {
			t.Fatalf("event %s is in the log and %s", event.MessageID, event.Status)
		}
	}
}

// The crash matrix's other boundaries. At each append of a life, the caller hangs up, before it is
// written or before the answer comes; or the acknowledgement is lost and the log itself finds out that the
// entry is written; or another engine has gone on with the workflow before it did. Each call takes effect at
// most once, each event in the log is processed, and the checkpoint reaches the head.
func TestHangUpsAndLostAnswersAtEveryAppend(t *testing.T) {
	t.Parallel()
	for _, sc := range append(scenarios, scenario{name: "paused, resumed and approved", effects: 3, consumed: 3}) {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			whole := runCaller(t, sc, 0, enginetest.Asked, false)
			if whole < 8 {
				t.Fatalf("the scenario makes only %d appends", whole)
			}
			step := 1
			if testing.Short() {
				step = 8 // a sample
			}
			for at := 1; at <= whole; at += step {
				for _, c := range []struct {
					what   string
					moment enginetest.Moment
					rival  bool
				}{
					{"hang-up before it is written", enginetest.Asked, false},
					{"hang-up before the answer", enginetest.Durable, false},
					{"settled by the log", enginetest.AckRecovered, false},
					{"settled by the log, overtaken", enginetest.AckRecovered, true},
				} {
					t.Run(fmt.Sprintf("append %d %s", at, c.what), func(t *testing.T) {
						runCaller(t, sc, at, c.moment, c.rival)
					})
				}
			}
		})
	}
}

func runCaller(t *testing.T, sc scenario, at int, moment enginetest.Moment, rival bool) (appends int) {
	t.Helper()
	below := memlog.New(memlog.Config{})
	b := enginetest.NewOn(t, below)
	b.Config = engine.Config{Clock: enginetest.NewJumpClock(time.Hour), DrainTimeout: time.Nanosecond}
	if sc.world != nil {
		sc.world(b.World, b.Config.Clock)
	}
	c := &caller{t: t}
	log := enginetest.NewCallerLog(below, at, moment, func(ctx context.Context, e eventlog.Entry) {
		written, err := eventlog.Decode(e.Stored)
		if err != nil {
			t.Error(err)
			return
		}
		c.leave(ctx, written.Actor == enginetest.Tester)
		if rival {
			overtake(b, below)
		}
	})
	b.Log = log
	c.engine = b.Start()
	c.commands(b, sc.name == "paused, resumed and approved")
	s := c.engine.Rest("orders")
	dealtWith(t, b, c.engine)
	check(t, b, sc, s)
	if err := c.engine.Stop(); err != nil {
		t.Fatal(err)
	}
	b.MustAgree("orders")
	return log.Appends()
}

// overtake lets another engine take the workflow for one of a crashed engine, and go on with it.
func overtake(b *enginetest.Harness, log eventlog.Log) {
	other := enginetest.NewOn(b.TB, log)
	other.World = b.World
	other.Config = engine.Config{Clock: enginetest.NewJumpClock(time.Hour), DrainTimeout: time.Nanosecond}
	e := other.Start()
	e.RestOrDie()
	if err := e.Stop(); err != nil {
		b.TB.Error(err)
	}
}
