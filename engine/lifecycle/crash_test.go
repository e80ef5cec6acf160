package lifecycle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/ops/replay"
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
	skip     bool             // a person skips the order instead of approving its call
	slow     bool             // the log is slow once, when the run is in emitting
	// fails says that a run of the life without a crash must fail, by itself.
	fails bool
	// ends are how the order may end, effects the most that may have happened outside.
	ends    []eventlog.EventStatus
	effects int
}

var (
	consumed = []eventlog.EventStatus{eventlog.EventStatusConsumed}
	skipped  = []eventlog.EventStatus{eventlog.EventStatusSkipped}
	pending  = []eventlog.EventStatus{eventlog.EventStatusPending}
	// either is the end of calls whose connector cannot be asked: a crash in flight leaves it to a person.
	either = []eventlog.EventStatus{eventlog.EventStatusConsumed, eventlog.EventStatusSkipped}
)

// filing is a second consumer, of what the first one publishes.
func filing(next string) shop {
	return shop{more: `file: Keep.consumer({
      subscribe: ["receipts"],
      async prepare(ctx) {
        const [r] = await ctx.peek("receipts");
        return { reservations: r ? [{ topic: "receipts", ids: [r.id] }] : [], data: r ? r.id : null };
      },
      async mutate(ctx, { data }) { await ctx.world.send({ file: data }); },
      async next(ctx, { data }) { if (data) { ` + next + ` } },
    }),`}
}

// The numbers are those of the scenarios. 7, 8 and 11 are crashes themselves: what they are about
// happens here at one append or another of every case.
var crashCases = []crashCase{
	{name: "all goes well (5, 10)", ends: consumed, effects: 1},
	{name: "a transient failure in emitting (4)", fails: true, shop: shop{mutate: `/* nothing to send */`}, slow: true,
		ends: consumed, effects: 0},
	{name: "empty reservations (9)", shop: shop{prepare: `return { reservations: [], data: { order: "none" } };`},
		ends: pending, effects: 0},
	{name: "a producer fails (12)", fails: true, shop: shop{producer: produces + broken("poll")},
		repaired: &shop{producer: produces}, ends: consumed, effects: 1},
	{name: "the second consumer fails (14)", fails: true, shop: filing(broken("file")), repaired: ptr(filing("")),
		ends: consumed, effects: 2},
	{name: "retried by its job", shop: shop{options: "maxAttempts: 2,"}, calls: []outcome{definitely(eventlog.Transient)},
		ends: consumed, effects: 1},
	{name: "skipped instead of approved", asks: true, skip: true, ends: skipped, effects: 0},
	{name: "a logic failure in prepare", shop: shop{prepare: broken("read")}, repaired: &shop{}, ends: consumed,
		effects: 1},
	{name: "a logic failure in next", shop: shop{next: broken("publish")}, repaired: &shop{}, ends: consumed, effects: 1},
	{name: "a transient failure in prepare", shop: listing,
		reads: []eventlog.Class{eventlog.Transient, eventlog.Transient}, ends: consumed, effects: 1},
	{name: "an auth failure in a read", shop: listing, reads: []eventlog.Class{eventlog.Auth}, ends: consumed, effects: 1},
	{name: "a call that definitely failed", calls: []outcome{definitely(eventlog.Logic)},
		repaired: &shop{next: "/* repaired */"}, ends: consumed, effects: 1},
	{name: "a call that asked for a person", calls: []outcome{definitely(eventlog.Precondition)}, ends: consumed,
		effects: 1},
	{name: "an answer that was lost", calls: []outcome{lostApplied}, ends: consumed, effects: 1},
	{name: "a call that was lost", calls: []outcome{lost}, ends: consumed, effects: 1},
	{name: "it did not happen", shop: shop{mutate: fires}, calls: []outcome{lost}, resolve: decide.DidNotHappen,
		ends: either, effects: 1},
	{name: "skipped after it may have happened", shop: shop{mutate: fires}, calls: []outcome{lostApplied},
		resolve: decide.Skip, ends: either, effects: 1},
	{name: "skipped, and next fails", shop: shop{mutate: fires, next: broken("publish")}, repaired: &shop{mutate: fires},
		calls: []outcome{lost}, resolve: decide.Skip, ends: either, effects: 1},
	{name: "approved", asks: true, resolve: decide.DidNotHappen, ends: consumed, effects: 1},
	{name: "rejected", asks: true, reject: true, ends: skipped, effects: 0},
	{name: "nothing to send", shop: shop{mutate: `/* nothing */`}, ends: consumed, effects: 0},
	{name: "discarded and redriven", shop: shop{options: "maxAttempts: 1,"},
		calls: []outcome{definitely(eventlog.Logic), definitely(eventlog.Logic)}, ends: consumed, effects: 1},
	{name: "cancelled by the handler",
		shop: shop{prepare: `return { reservations: [], data: null, ` +
			`cancel: [{ topic: "orders", ids: [order.id], reason: "spam" }] };`}, ends: skipped, effects: 0},
	{name: "cancelled by a person", cancel: true, ends: skipped, effects: 0},
}

const produces = `await ctx.publish("orders", { messageId: "a", title: "Order a", payload: { id: "a" } });`

func ptr(s shop) *shop { return &s }

// A process that dies before or after any append, or that is not told that one was carried out,
// leaves a log from which a life reaches an end that is allowed: what happened outside happened at
// most once, no reservation is orphaned, the log is whole and agrees with the store. And it is the end
// of the life without a crash, unless a person had to say what became of a call.
func TestCrashAtEveryAppend(t *testing.T) {
	t.Parallel()
	for _, c := range crashCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			whole, end := c.run(t, 0, dies, enginetest.BeforeAppend)
			if whole < 3 {
				t.Fatalf("the life makes only %d appends", whole)
			}
			t.Logf("%d appends to this end:\n%s", whole, end)
			step := 1
			if testing.Short() {
				step = 24 // a sample
			}
			for at := 2; at <= whole; at += step { // the first one is the deploy
				for _, crash := range []struct {
					name  string
					what  int
					point enginetest.CrashPoint
				}{
					{"before append", dies, enginetest.BeforeAppend}, {"after append", dies, enginetest.AfterAppend},
					{"lost ack of append", lostAck, enginetest.AfterAppend},
				} {
					t.Run(fmt.Sprintf("%s %d", crash.name, at), func(t *testing.T) {
						_, got := c.run(t, at, crash.what, crash.point)
						if !slices.Equal(c.ends, either) && got != end {
							t.Errorf("the end is\n%swithout a crash it is\n%s", got, end)
						}
					})
				}
			}
		})
	}
}

// What happens at the chosen append: the process dies, or goes on without the acknowledgement.
const (
	dies = iota
	lostAck
)

// person does what a person is asked for, until nothing more is asked.
type person struct {
	crashCase
	t      *testing.T
	bench  *enginetest.Harness
	engine *enginetest.Engine

	deployed, pushed, cancelled bool
	redriven                    int
}

// run lives the case's life with a crash at one append, or none (0). It returns how many appends the
// process made, and the end in words.
func (c crashCase) run(t *testing.T, at, what int, point enginetest.CrashPoint) (appends int, end string) {
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
	var slow eventlog.Log = below
	if c.slow {
		b.Config.Policies = schedule.Default()
		b.Config.Policies.Storage.Wait = shortWait
		slow = &slowOnce{Log: below, at: "run.prepared"}
	}
	p := &person{crashCase: c, t: t, bench: b}
	log := enginetest.NewCrashLog(slow, 0, point)
	if what == dies {
		log = enginetest.NewCrashLog(slow, at, point)
	}
	b.Log = log
	p.engine = b.Start()
	if !p.live() && at == 0 {
		t.Fatal("the process died by itself")
	}
	_ = p.engine.Stop()
	appends = log.Appends()
	if log.Dead() {
		b.Log = slow
		p.engine = b.Start()
		if !p.live() {
			t.Fatal("the second process died too")
		}
	}
	if at == 0 && c.fails && !slices.Contains(b.Kinds("shop"), "run.failed") {
		t.Errorf("no run fails: %v", b.Kinds("shop"))
	}
	return appends, p.check(below, sent)
}

// shortWait is storage.wait where the log is slow once: short, as the log is slow at every crash. A
// machine that is slow by itself adds failures of the same kind, which end as this one does.
const shortWait = 100 * time.Millisecond

// slowOnce holds up the first append of a kind for longer than shortWait.
type slowOnce struct {
	eventlog.Log
	at   eventlog.FactType
	done atomic.Bool
}

func (s *slowOnce) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	head, err := s.Log.Append(ctx, e)
	if e.Kind == s.at && s.done.CompareAndSwap(false, true) {
		timer := time.NewTimer(shortWait * 3 / 2)
		<-timer.C
	}
	return head, err
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
		if _, err := p.engine.Deploy(ctx, enginetest.Tester, engine.DeployRequest{Source: p.shop.source(),
			Filename: "shop.ts", GrantUsed: !p.asks}); err != nil {
			return false
		}
		p.deployed = true
	}
	if p.cancel && !p.pushed {
		// A pause takes effect at the run boundary (O6): the run that the deploy wakes ends first, or it
		// would find the order.
		if !p.engine.RestOrDie() {
			return false
		}
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

// act does what a person would do after a look at the state at rest.
func (p *person) act(s *projections.State) (acted bool, err error) {
	ctx := context.Background()
	do := func(cmd decide.Command) (bool, error) {
		return true, p.engine.Operate(ctx, enginetest.Tester, "shop", cmd, "test")
	}
	switch {
	case s.Pause != nil:
		return do(decide.Resume{})
	case s.Maintenance != nil:
		if p.repaired == nil {
			p.t.Fatal("a repair is requested that this case does not foresee")
		}
		result, err := p.engine.Repair(ctx, enginetest.Tester, "shop", engine.RepairRequest{Source: p.repaired.source(),
			Filename: "shop.ts"})
		if result.Refused {
			p.t.Fatalf("the repair was refused: %+v", result.Problems)
		}
		return true, err
	case s.Blocked != nil && s.Blocked.Reason == eventlog.BlockApproval:
		id := s.CurrentRun().Mutation
		if p.skip {
			return do(decide.SkipEvent{Topic: "orders", MessageID: "a", Reason: "not wanted"})
		}
		if p.reject {
			return do(decide.Reject{Mutation: id})
		}
		return do(decide.Approve{Mutation: id})
	case s.Blocked != nil && s.Blocked.Reason == eventlog.BlockIndeterminate:
		// A person that says it did not happen has looked; a wrong answer breaks "at most once", not the engine.
		resolution, id := p.resolve, s.RetryRun().Mutation
		if resolution == "" {
			resolution = decide.DidNotHappen
		}
		if p.bench.World.Effects()[decide.IdempotencyKey("shop", id)] > 0 {
			resolution = decide.Skip
		}
		acted, err := do(decide.Resolve{Mutation: id, Resolution: resolution})
		if refusal := new(decide.Refusal); errors.As(err, &refusal) && refusal.Code == "mutation.open" {
			// The process that sent it has crashed since: it may take effect for a while yet (O1).
			p.bench.Config.Clock.(*enginetest.JumpClock).Advance(time.Minute)
			return true, nil
		}
		return acted, err
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

// check holds the end against what is allowed, and tells it.
func (p *person) check(log eventlog.Log, sent func() map[string]int) (end string) {
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
	if s.Blocked != nil || s.Maintenance != nil || s.CurrentRun() != nil || s.PendingRetry != "" ||
		len(decide.Orphans(&s)) > 0 {
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
	v, err := replay.Verify(context.Background(), log, &readmodel.Reader{Store: p.bench.Store}, 0)
	if err != nil || !v.OK {
		p.t.Errorf("verify: %v %+v", err, v)
	}
	return p.describe(full)
}

// describe is the end in words: what became of every event, what next was told, what the handlers
// remember, and what happened outside.
func (p *person) describe(s *projections.State) string {
	var lines []string
	for _, e := range s.Events() {
		var result struct{ Status string }
		_ = json.Unmarshal(e.Payload, &result) // only what next publishes has one
		lines = append(lines, fmt.Sprintf("%s/%s is %s, job %s, next was told %q\n", e.Topic, e.MessageID, e.Status, e.Job(),
			result.Status))
	}
	for _, h := range []eventlog.Handler{"send", "file", "poll"} {
		if handler := s.Handler(h); handler != nil {
			lines = append(lines, fmt.Sprintf("%s remembers %s\n", h, handler.State))
		}
	}
	slices.Sort(lines)
	return strings.Join(append(lines, fmt.Sprintf("%d effects\n", len(p.bench.World.Effects()))), "")
}
