package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
)

// slowAnswer carries out an append and holds back the answer once it is armed. As in a real log, an Append
// whose context ends is unsettled, although the entry is written.
type slowAnswer struct {
	eventlog.Log
	armed   atomic.Bool
	written chan struct{}
	release chan struct{}
}

func (l *slowAnswer) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	head, err := l.Log.Append(context.WithoutCancel(ctx), e)
	if !l.armed.CompareAndSwap(true, false) {
		return head, err
	}
	close(l.written)
	select {
	case <-l.release:
	case <-ctx.Done():
		return eventlog.Written{}, fmt.Errorf("%w: %w", eventlog.ErrUnconfirmed, context.Cause(ctx))
	}
	return head, err
}

// A client that hangs up while its command is on the way to the log costs nothing: the engine settles
// it, and does at once what follows from it.
func TestWhatACallerLeavesBehindIsSettled(t *testing.T) {
	t.Parallel()
	ask := eventlog.GrantAsk
	for _, c := range []struct {
		name string
		// before prepares the workflow, then asks, and done says that what follows has happened.
		before func(*enginetest.Engine)
		ask    func(context.Context, *enginetest.Engine) error
		done   func(*enginetest.Harness, *enginetest.Engine) error
	}{
		{
			name: "push",
			ask: func(ctx context.Context, e *enginetest.Engine) error {
				_, err := e.Push(ctx, enginetest.Tester, "orders", "order.in",
					[]decide.PushItem{{MessageID: "a", Title: "A", Payload: []byte(`{"id":"a"}`)}})
				return err
			},
			done: sentOnce,
		},
		{
			name: "resume",
			before: func(e *enginetest.Engine) {
				mustOperate(e, decide.Pause{}, "pause")
				e.MustPush("orders", "order.in", "a")
			},
			ask: func(ctx context.Context, e *enginetest.Engine) error {
				return e.Operate(ctx, enginetest.Tester, "orders", decide.Resume{}, "resume")
			},
			done: sentOnce,
		},
		{
			name: "approve",
			before: func(e *enginetest.Engine) {
				mustOperate(e, decide.SetGrants{Grants: map[string]eventlog.Grant{"world.send": ask, "*": eventlog.GrantAllow}},
					"grants")
				e.MustPush("orders", "order.in", "a")
				e.Rest("orders")
			},
			ask: func(ctx context.Context, e *enginetest.Engine) error {
				wait, _ := e.Why("orders")
				return e.Operate(ctx, enginetest.Tester, "orders", decide.Approve{Mutation: eventlog.MutationID(wait.Subject)},
					"approve")
			},
			done: sentOnce,
		},
		{
			name: "pause",
			ask: func(ctx context.Context, e *enginetest.Engine) error {
				return e.Operate(ctx, enginetest.Tester, "orders", decide.Pause{}, "pause")
			},
			done: func(_ *enginetest.Harness, e *enginetest.Engine) error {
				if s := e.Rest("orders"); s.Pause == nil {
					return errors.New("the workflow is not paused")
				}
				if wait, _ := e.Why("orders"); wait == nil || wait.Reason != decide.ReasonUserPause {
					return fmt.Errorf("it waits for %+v", wait)
				}
				return nil
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := enginetest.New(t)
			held := &slowAnswer{Log: b.Log, written: make(chan struct{}), release: make(chan struct{})}
			b.Log = held
			e := b.Start()
			e.MustDeploy(ordersWorkflow)
			e.Rest("orders")
			if c.before != nil {
				c.before(e)
			}
			e.Rest("orders")
			held.armed.Store(true)
			ctx, hangUp := context.WithCancel(t.Context())
			answered := make(chan error, 1)
			go func() { answered <- c.ask(ctx, e) }()
			<-held.written
			hangUp()
			if err := <-answered; !errors.Is(err, engine.ErrUnavailable) || !errors.Is(err, engine.ErrUnknownOutcome) {
				t.Errorf("the caller that hung up was told: %v", err)
			}
			close(held.release)
			if err := c.done(b, e); err != nil {
				t.Error(err)
			}
			for p := range b.Log.Partitions() {
				if last, err := b.Log.Last(t.Context(), p); err != nil || e.ProcessedSeq(p) != last {
					t.Errorf("partition %d is reached up to %d, the log ends at %d (%v)", p, e.ProcessedSeq(p), last, err)
				}
			}
			if err := e.Stop(); err != nil {
				t.Fatal(err)
			}
			b.MustAgree("orders")
		})
	}
}

func mustOperate(e *enginetest.Engine, cmd decide.Command, what string) {
	if err := e.Operate(context.Background(), enginetest.Tester, "orders", cmd, what); err != nil {
		panic(fmt.Sprintf("%s: %v", what, err))
	}
}

// sentOnce holds that the one order was sent and is consumed.
func sentOnce(b *enginetest.Harness, e *enginetest.Engine) error {
	s := e.Rest("orders")
	if len(b.World.Effects()) != 1 || len(b.World.Twice()) > 0 {
		return fmt.Errorf("effects %v; the workflow is at revision %d", b.World.Effects(), s.Head.Revision)
	}
	if full := b.FullFold("orders"); full.Event("order.in", "a").Status != eventlog.EventStatusConsumed {
		return fmt.Errorf("the event is %+v", full.Event("order.in", "a"))
	}
	return nil
}

// An engine that is asked to stop while the log does not answer does so within its time, and the next one
// finds out what became of the last decision.
func TestStopsThoughTheLogDoesNotAnswer(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	below := b.Log
	held := &slowAnswer{Log: below, written: make(chan struct{}), release: make(chan struct{})}
	b.Log, b.Config = held, engine.Config{DrainTimeout: 20 * time.Millisecond}
	e := b.Start()
	e.MustDeploy(ordersWorkflow)
	e.Rest("orders")
	held.armed.Store(true)
	ctx, hangUp := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	push := func(ctx context.Context) error {
		_, err := e.Push(ctx, enginetest.Tester, "orders", "order.in",
			[]decide.PushItem{{MessageID: "a", Title: "A", Payload: []byte(`{"id":"a"}`)}})
		return err
	}
	go func() { answered <- push(ctx) }()
	<-held.written
	hangUp()
	if err := <-answered; !errors.Is(err, engine.ErrUnknownOutcome) {
		t.Errorf("the caller was told: %v", err)
	}
	second, leave := context.WithCancel(t.Context())
	leave()
	if err := push(second); !errors.Is(err, engine.ErrNothingRecorded) || errors.Is(err, engine.ErrUnknownOutcome) {
		t.Errorf("a caller that leaves before anything was recorded was told: %v", err)
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := push(t.Context()); !errors.Is(err, engine.ErrNothingRecorded) {
		t.Errorf("an engine that has ended answers a push with %v", err)
	}
	b.Log = below
	if err := sentOnce(b, b.Start()); err != nil {
		t.Error(err)
	}
}

// An engine that is asked to stop while the log does not answer for the outcome of a call does so within its
// time and names the call. The next one finds out what became of it, and sends nothing again.
func TestStopsThoughTheLogTakesNoOutcome(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	below := b.Log
	held := &slowAnswer{Log: below, written: make(chan struct{}), release: make(chan struct{})}
	var said enginetest.LogCapture
	b.Log, b.Logger = held, said.Logger()
	b.Config = engine.Config{DrainTimeout: 20 * time.Millisecond, SettleTimeout: 20 * time.Millisecond}
	b.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		held.armed.Store(true) // for the next append, which is the outcome's
		return b.World.Apply(call)
	})
	e := b.Start()
	e.MustDeploy(ordersWorkflow)
	e.MustPush("orders", "order.in", "a")
	<-held.written
	stopped := make(chan error, 1)
	go func() { stopped <- e.Stop() }()
	select {
	case err := <-stopped:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not stop")
	}
	full := b.FullFold("orders")
	for id, m := range full.Mutations() {
		for _, want := range []string{"the log has not taken the outcomes", "could not be recorded", string(id),
			string(m.Run), "world.send", "workflow=orders", "since="} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("it does not say %q:\n%s", want, said.String())
			}
		}
	}
	b.Log = below
	b.World.OnPerform(nil)
	if err := sentOnce(b, b.Start()); err != nil {
		t.Error(err)
	}
}
