package lifecycle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// crashCase is a life with one order, into which a crash is put at every append.
type crashCase struct {
	name     string
	shop     shop
	repaired *shop // what a person repairs the script with
	asks     bool  // calls ask for approval
	reject   bool  // and are rejected
	resolve  decide.Resolution
	calls    []outcome        // of the first calls
	reads    []eventlog.Class // in which the first reads fail
	cancel   bool             // a person cancels the order's job before it runs
	// ends are how the order may end, effects the most that may have happened outside.
	ends    []eventlog.EventStatus
	effects int
}

var (
	consumed = []eventlog.EventStatus{eventlog.EventStatusConsumed}
	skipped  = []eventlog.EventStatus{eventlog.EventStatusSkipped}
	either   = []eventlog.EventStatus{eventlog.EventStatusConsumed, eventlog.EventStatusSkipped}
)

var crashCases = []crashCase{
	{name: "a logic failure in prepare", shop: shop{prepare: broken("read")}, repaired: &shop{}, ends: consumed, effects: 1},
	{name: "a logic failure in next", shop: shop{next: broken("publish")}, repaired: &shop{}, ends: consumed, effects: 1},
	{name: "a transient failure in prepare", shop: listing, reads: []eventlog.Class{eventlog.Transient, eventlog.Transient}, ends: consumed, effects: 1},
	{name: "an auth failure in a read", shop: listing, reads: []eventlog.Class{eventlog.Auth}, ends: consumed, effects: 1},
	{name: "a call that definitely failed", calls: []outcome{definitely(eventlog.Logic)}, repaired: &shop{next: "/* repaired */"}, ends: consumed, effects: 1},
	{name: "a call that asked for a person", calls: []outcome{definitely(eventlog.Precondition)}, ends: consumed, effects: 1},
	{name: "an answer that was lost", calls: []outcome{lostApplied}, ends: consumed, effects: 1},
	{name: "a call that was lost", calls: []outcome{lost}, ends: consumed, effects: 1},
	{name: "it did not happen", shop: shop{mutate: fires}, calls: []outcome{lost}, resolve: decide.DidNotHappen, ends: either, effects: 1},
	{name: "skipped after it may have happened", shop: shop{mutate: fires}, calls: []outcome{lostApplied}, resolve: decide.Skip, ends: either, effects: 1},
	{name: "skipped, and next fails", shop: shop{mutate: fires, next: broken("publish")}, repaired: &shop{mutate: fires}, calls: []outcome{lost}, resolve: decide.Skip, ends: either, effects: 1},
	{name: "approved", asks: true, resolve: decide.DidNotHappen, ends: consumed, effects: 1},
	{name: "rejected", asks: true, reject: true, ends: skipped, effects: 0},
	{name: "nothing to send", shop: shop{mutate: `/* nothing */`}, ends: consumed, effects: 0},
	{name: "discarded and redriven", shop: shop{options: "maxAttempts: 1,"}, calls: []outcome{definitely(eventlog.Logic), definitely(eventlog.Logic)}, ends: consumed, effects: 1},
	{name: "cancelled by the handler", shop: shop{prepare: `return { reservations: [], data: null, cancel: [{ topic: "orders", ids: [order.id], reason: "spam" }] };`}, ends: skipped, effects: 0},
	{name: "cancelled by a person", cancel: true, ends: skipped, effects: 0},
}

// A process that dies before or after any append, or that is not told that one was carried out,
// leaves a log from which a life reaches an end that is allowed: what happened outside happened at
// most once, no reservation is orphaned, the log is whole and agrees with the store.
func TestCrashAtEveryAppend(t *testing.T) {
	t.Parallel()
	for _, c := range crashCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			whole := c.run(t, 0, dies, enginetest.BeforeAppend)
			if whole < 3 {
				t.Fatalf("the life makes only %d appends", whole)
			}
			for at := 2; at <= whole; at++ { // the first one is the deploy
				t.Run(fmt.Sprintf("before append %d", at), func(t *testing.T) { c.run(t, at, dies, enginetest.BeforeAppend) })
				t.Run(fmt.Sprintf("after append %d", at), func(t *testing.T) { c.run(t, at, dies, enginetest.AfterAppend) })
				t.Run(fmt.Sprintf("lost ack of append %d", at), func(t *testing.T) { c.run(t, at, lostAck, enginetest.AfterAppend) })
			}
		})
	}
}

// What happens at the chosen append: the process dies, or goes on without the acknowledgement.
const (
	dies = iota
	lostAck
)

// person does what a person is asked for, until nobody is asked any more.
type person struct {
	crashCase
	t      *testing.T
	bench  *enginetest.Bench
	engine *enginetest.Engine

	deployed, pushed, cancelled bool
	redriven                    int
}

func (c crashCase) run(t *testing.T, at, what int, point enginetest.CrashPoint) (appends int) {
	t.Helper()
	var count atomic.Int64
	below := memlog.New(memlog.Config{Fault: func(eventlog.Entry) memlog.Fault {
		if n := count.Add(1); what == lostAck && n == int64(at) {
			return memlog.LostAck
		}
		return memlog.None
	}})
	b := enginetest.NewOn(t, below)
	b.Config = engine.Config{Clock: enginetest.NewJumpClock(30 * time.Minute), DrainTimeout: time.Nanosecond}
	sent := c.world(b.World)
	p := &person{crashCase: c, t: t, bench: b}
	var log *enginetest.CrashLog
	if what == dies {
		log = enginetest.NewCrashLog(below, at, point)
	} else {
		log = enginetest.NewCrashLog(below, 0, point)
	}
	b.Log = log
	p.engine = b.Start()
	if !p.live() && at == 0 {
		t.Fatal("the process died by itself")
	}
	_ = p.engine.Stop()
	appends = log.Appends()
	if log.Dead() {
		b.Log = below
		p.engine = b.Start()
		if !p.live() {
			t.Fatal("the second process died too")
		}
	}
	p.check(below, sent)
	return appends
}

// world plays the outside and counts the calls that leave, by key.
func (c crashCase) world(w *enginetest.World) func() map[string]int {
	l := &life{sent: map[string]int{}, world: w, script: slices.Clone(c.calls)}
	reads := slices.Clone(c.reads)
	w.OnPerform(l.perform)
	w.OnRead(func(connector.Call) (json.RawMessage, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(reads) > 0 {
			class := reads[0]
			reads = reads[1:]
			return nil, enginetest.Failing(class, "world.unreadable")
		}
		return json.RawMessage(`[]`), nil
	})
	return func() map[string]int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.sent
	}
}

// live goes on until nothing is asked of a person any more; false says that the process has died.
func (p *person) live() bool {
	p.t.Helper()
	for range 20 {
		if !p.begin() || !p.engine.RestOrDie() {
			return false
		}
		s, _ := p.engine.State("shop")
		acted, err := p.act(&s)
		switch {
		case errors.Is(err, engine.ErrUnavailable):
			return false
		case err != nil:
			p.t.Fatalf("a person was refused: %v (%v)", err, p.bench.Kinds("shop"))
		case !acted:
			return true
		}
	}
	p.t.Fatalf("a person is asked again and again: %v", p.bench.Kinds("shop"))
	return false
}

// begin deploys, pushes and cancels what is not acknowledged yet.
func (p *person) begin() bool {
	ctx := context.Background()
	if !p.deployed {
		if _, err := p.engine.Deploy(ctx, enginetest.Tester, engine.DeployRequest{Source: p.shop.source(), Filename: "shop.ts", GrantUsed: !p.asks}); err != nil {
			return false
		}
		p.deployed = true
	}
	if p.cancel && !p.pushed {
		if p.engine.Operate(ctx, enginetest.Tester, "shop", decide.Pause{}, "pause") != nil {
			return false
		}
	}
	if !p.pushed {
		item := decide.PushItem{MessageID: "a", Title: "Order a", Payload: json.RawMessage(`{"id":"a"}`)}
		if _, err := p.engine.Push(ctx, enginetest.Tester, "shop", "orders", []decide.PushItem{item}); err != nil {
			return false
		}
		p.pushed = true
	}
	if p.cancel && !p.cancelled {
		done, err := p.engine.ChangeEvents(ctx, enginetest.Tester, "shop", decide.ChangeEvents{
			Action: decide.ActionCancel, Items: []eventlog.EventRef{{Topic: "orders", MessageID: "a"}},
		})
		if err != nil {
			return false
		}
		if p.cancelled = true; done.Updated+len(done.Noop) != 1 {
			p.t.Errorf("cancelled: %+v", done)
		}
	}
	return true
}

// act is what a person does who looks at the state at rest.
func (p *person) act(s *projections.State) (acted bool, err error) {
	ctx := context.Background()
	do := func(cmd decide.Command) (bool, error) {
		return true, p.engine.Operate(ctx, enginetest.Tester, "shop", cmd, "test")
	}
	switch {
	case s.UserPaused:
		return do(decide.Resume{})
	case s.Maintenance != nil:
		if p.repaired == nil {
			p.t.Fatal("a repair is asked for that nobody foresaw")
		}
		result, err := p.engine.Repair(ctx, enginetest.Tester, "shop", engine.RepairRequest{Source: p.repaired.source(), Filename: "shop.ts"})
		if result.Refused {
			p.t.Fatalf("the repair was refused: %+v", result.Problems)
		}
		return true, err
	case s.Blocked != nil && s.Blocked.Reason == eventlog.BlockApproval:
		id := s.CurrentRun().Mutation
		if p.reject {
			return do(decide.Reject{Mutation: id})
		}
		return do(decide.Approve{Mutation: id})
	case s.Blocked != nil && s.Blocked.Reason == eventlog.BlockIndeterminate:
		// Who says that it did not happen has looked: otherwise "at most once" is theirs to keep.
		resolution, id := p.resolve, s.RetryRun().Mutation
		if resolution == "" {
			resolution = decide.DidNotHappen
		}
		if p.bench.World.Effects()[decide.IdempotencyKey("shop", id)] > 0 {
			resolution = decide.Skip
		}
		return do(decide.Resolve{Mutation: id, Resolution: resolution})
	case s.Blocked != nil:
		return do(decide.Resume{})
	}
	full := p.bench.FullFold("shop")
	if e := full.Event("orders", "a"); e != nil && e.Status == eventlog.EventStatusDiscarded && p.redriven < 3 {
		p.redriven++
		return do(decide.RedriveJob{Topic: "orders", MessageID: "a"})
	}
	return false, nil
}

// check holds the end against what is allowed.
func (p *person) check(log eventlog.Log, sent func() map[string]int) {
	p.t.Helper()
	kinds := p.bench.Kinds("shop")
	for key, n := range sent() {
		if n > 1 {
			p.t.Errorf("call %s left %d times: %v", key, n, kinds)
		}
	}
	if effects := p.bench.World.Effects(); len(effects) > p.effects || len(p.bench.World.Twice()) > 0 {
		p.t.Errorf("%d effects, at most %d are allowed: %v", len(effects), p.effects, kinds)
	}
	s, _ := p.engine.State("shop")
	if s.Blocked != nil || s.Maintenance != nil || s.CurrentRun() != nil || s.PendingRetry != "" || len(decide.Orphans(&s)) > 0 {
		p.t.Errorf("not at rest: %+v, orphans %v\n%v", s.Workflow, decide.Orphans(&s), kinds)
	}
	if err := p.engine.Stop(); err != nil {
		p.t.Errorf("stop: %v", err)
	}
	full := p.bench.FullFold("shop")
	if e := full.Event("orders", "a"); e == nil || !slices.Contains(p.ends, e.Status) {
		p.t.Errorf("the order ended as %+v, allowed are %v\n%v", e, p.ends, kinds)
	}
	p.bench.MustAgree("shop")
	v, err := ops.Verify(context.Background(), log, &readmodel.Reader{Store: p.bench.Store})
	if err != nil || !v.OK {
		p.t.Errorf("verify: %v %+v", err, v)
	}
}
