package decide_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// life drives a workflow with random outcomes, operators and clocks.
type life struct {
	*bench
	// draw returns a number from low to high.
	draw    func(label string, low, high int) int
	ids     int
	version int
	// ignored are events that a committed empty run has seen and left: they need not wake a handler.
	ignored map[projections.Key]string
	peeked  map[projections.Key]string // what the prepare of the current run saw
	facts   map[eventlog.FactType]int
}

func newLife(t fataler, draw func(string, int, int) int) *life {
	return &life{bench: newBench(t), draw: draw, ignored: map[projections.Key]string{}, facts: map[eventlog.FactType]int{}}
}

// TestAnyHistory keeps the invariants of bench.check through random histories, finds no defect and
// no record that cannot be folded, and reaches rest from wherever it got to. What fails is
// shrunk, and the output says how to repeat it.
func TestAnyHistory(t *testing.T) {
	t.Parallel()
	repeatable(t)
	rapid.Check(t, func(rt *rapid.T) {
		l := newLife(rt, func(label string, low, high int) int { return rapid.IntRange(low, high).Draw(rt, label) })
		l.live(l.draw("steps", 1, 120))
	})
}

// repeatable draws the seed of the test's only use of rapid here, unless it is given, and says it: a failing run tells
// only the file in which it keeps what failed, which is lost with the machine that it ran on.
func repeatable(t *testing.T) {
	t.Helper()
	seed := flag.Lookup("rapid.seed")
	if seed.Value.String() == "0" {
		if err := seed.Value.Set(fmt.Sprint(rand.Uint64())); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("repeat with -rapid.seed=%s", seed.Value)
}

var (
	seed  = flag.Uint64("decide.seed", 0, "run only this seed of TestLongHistories and TestConcurrentHistories")
	seeds = flag.Uint64("decide.seeds", 120, "how many seeds they run")
)

// TestLongHistories is the same with longer, evenly drawn histories, which shrink badly. It must
// reach every fact.
func TestLongHistories(t *testing.T) {
	t.Parallel()
	facts := histories(t, 0, func(l *life) { l.live(150) })
	for _, f := range eventlog.FactTypes() {
		if facts != nil && facts[f] == 0 && f != "workflow.loss_accepted" && f != "log.restored" &&
			!eventlog.OfInstallation(f) && !eventlog.OfConcurrent(f) {
			t.Errorf("no history had a %s", f)
		}
	}
}

// histories lives a history for each seed, and counts the facts of all; nil if only one was asked for,
// or few are lived, with -short.
func histories(t *testing.T, stream uint64, live func(*life)) map[eventlog.FactType]int {
	facts := map[eventlog.FactType]int{}
	history := func(seed uint64) {
		chance := rand.New(rand.NewPCG(seed, stream))
		l := newLife(&seeded{t, seed}, func(_ string, low, high int) int { return low + chance.IntN(high-low+1) })
		live(l)
		for f, n := range l.facts {
			facts[f] += n
		}
	}
	if *seed != 0 {
		history(*seed)
		return nil
	}
	if testing.Short() {
		for n := range *seeds / 4 {
			history(n + 1)
		}
		return nil // too few to have had everything
	}
	for n := range *seeds {
		history(n + 1)
	}
	return facts
}

// seeded says how to repeat what fails.
type seeded struct {
	*testing.T
	seed uint64
}

func (s *seeded) Fatalf(format string, args ...any) {
	s.Helper()
	s.T.Fatalf("-run %s -decide.seed %d: "+format, append([]any{s.Name(), s.seed}, args...)...)
}

// drawPolicies are small budgets, which a history can use up.
func (l *life) drawPolicies() {
	l.policies = schedule.Default()
	l.policies.Transient.Retries = l.int("retries", 0, 2)
	l.policies.Reconcile.Attempts = l.int("attempts", 0, 2)
	l.policies.Repair.Budget = l.int("budget", 1, 3)
	l.policies.Session.MaxRuns = l.int("maxRuns", 1, 4)
}

func (l *life) live(steps int) {
	l.drawPolicies()
	l.deploy()
	for range steps {
		if l.chance(35) {
			l.aside()
		} else {
			l.work()
		}
		l.noLostWakeUp()
	}
	l.settleDown()
	l.countInputs()
}

func (l *life) int(label string, low, high int) int { return l.draw(label, low, high) }
func (l *life) chance(percent int) bool             { return l.int("chance", 0, 99) >= 100-percent }
func (l *life) pick(label string, from ...string) string {
	return from[l.int(label, 0, len(from)-1)]
}

func (l *life) failure() *eventlog.Failure {
	class := l.pick("class", "transient", "logic", "permission", "auth", "precondition", "internal", "")
	return &eventlog.Failure{Class: eventlog.Class(class), Code: "test", Message: "failed"}
}

// step does the command; a refusal or a stale outcome is fine.
func (l *life) step(cmd decide.Command) error {
	err := l.do(cmd)
	if err == nil {
		for _, f := range l.last.Facts {
			l.note(cmd, f)
			l.facts[f.FactType()]++
		}
	}
	return err
}

// signature changes whenever an event becomes pending anew.
func signature(e *projections.TopicEvent) string {
	return fmt.Sprint(e.Executions, e.Failures, e.ScheduledAt, len(e.Attempts))
}

func (l *life) note(cmd decide.Command, f eventlog.Fact) {
	switch f := f.(type) {
	case *eventlog.RunPrepared:
		l.peeked = map[projections.Key]string{}
		run := l.run(f.Run)
		script := l.row(projections.ScriptKey(run.Version)).(*projections.Script)
		c, _ := script.Definition.Consumer(run.Handler)
		for k, row := range l.store {
			e, ok := row.(*projections.TopicEvent)
			if !ok || !c.Subscribes(e.Topic) {
				continue
			}
			// An engine reads for prepare what is paged out: its place tells that it is there.
			if place, queued := l.seen.Queued(e.Topic, e.Created); queued && place.Visible(l.now) {
				l.peeked[k] = signature(cmp.Or(l.seen.Event(e.Topic, e.MessageID), e))
			}
		}
	case *eventlog.RunCommitted:
		if run := l.run(f.Run); run.Type == eventlog.ConsumerHandler && run.RetryOf == "" && len(run.Reserved) == 0 {
			for k, sig := range l.peeked {
				l.ignored[k] = sig
			}
		}
	case *eventlog.WorkflowPaused, *eventlog.WorkflowResumed:
		switch cmd.(type) {
		case decide.Pause, decide.Resume:
		default:
			l.t.Fatalf("%T changed a person's pause (F7)", cmd)
		}
	case *eventlog.EventSkipped:
		delete(l.ignored, projections.EventKey(f.Topic, f.MessageID))
	case *eventlog.WorkflowDeployed:
		clear(l.ignored)
	}
}

// noLostWakeUp: at rest, every visible event of a subscribed topic was seen by a run that left it.
func (l *life) noLostWakeUp() {
	wait, ok := l.next().(decide.Wait)
	if !ok {
		return
	}
	switch wait.Reason {
	case decide.ReasonIdle, decide.ReasonScheduled, decide.ReasonWake:
	case decide.ReasonBackoff:
		if l.state.Backoff != nil && l.state.Backoff.Until > l.now {
			return
		}
	default:
		return
	}
	for _, e := range l.state.Events() {
		if _, ok := l.state.Definition().Subscriber(e.Topic); !ok || !e.Visible(l.now) {
			continue
		}
		if sig, seen := l.ignored[projections.EventKey(e.Topic, e.MessageID)]; !seen || sig != signature(e) {
			l.t.Fatalf("%s is at rest (%+v) while event %s of %s is pending and no run has looked at it", l.state.Name, wait,
				e.MessageID, e.Topic)
		}
	}
}

func (l *life) deploy() {
	l.version++
	words := split("deploy p c:in d:out src=" + fmt.Sprint(l.version))
	switch l.int("shape", 0, 5) {
	case 0:
		words = split("deploy p c:in -next src=" + fmt.Sprint(l.version))
	case 1:
		words = split("deploy c:in d:out -mutate src=" + fmt.Sprint(l.version))
	case 2:
		words = split("deploy p d:in,out src=" + fmt.Sprint(l.version))
	}
	if l.chance(40) {
		words.named["max"] = l.pick("max", "0", "1", "2")
		words.named["dead"] = l.pick("dead", "", "free", "out")
	}
	if l.chance(30) {
		words.named["grant"] = l.pick("grant", "ask", "deny")
	}
	cmd := definition(words)
	if l.state.Exists() && l.chance(40) {
		cmd.Repair, cmd.Expected = true, &l.state.Version
		cmd.Definition = *l.state.Definition()
	}
	_ = l.step(cmd)
}

func (l *life) settle(m eventlog.MutationID, by string) {
	c := decide.SettleMutation{Mutation: m, By: by}
	if row := l.state.Mutation(m); row != nil && by == eventlog.ResolvedByReconcile {
		c.Resent = row.Resending
	}
	switch l.int("outcome", 0, 3) {
	case 0, 1:
		c.Outcome = decide.Settlement{Status: decide.Applied}
	case 2:
		c.Outcome = decide.Settlement{Status: decide.Failed, Failure: l.failure()}
	}
	if by == eventlog.ResolvedByReconcile && l.chance(40) {
		c.UnderWay = true
		if l.chance(50) {
			c.OverAt = l.now.Add(time.Duration(l.int("over", 1, 20)) * time.Second)
		}
	}
	if by == "" && l.chance(60) {
		c.OverAt = l.now.Add(time.Duration(l.int("over", 0, 20)) * time.Second)
	}
	_ = l.step(c)
}

// reconcile finds out what became of a call, with some outcome.
func (l *life) reconcile(m eventlog.MutationID) {
	if l.state.Mutation(m).Call.Resends() && l.chance(80) {
		if l.step(decide.ResendMutation{Mutation: m}) != nil || l.chance(40) {
			return // no answer yet
		}
	}
	l.settle(m, eventlog.ResolvedByReconcile)
}

// work does what the state owes, with some outcome.
func (l *life) work() { l.perform(l.next()) }

func (l *life) perform(todo decide.Todo) {
	switch todo := todo.(type) {
	case decide.StartRun:
		_ = l.step(decide.Tick{})
	case decide.BeginEvent:
		_ = l.step(decide.Tick{Place: &todo.Place})
	case decide.CrashRun:
		_ = l.step(decide.Recover{})
	case decide.RunProducer:
		_ = l.step(l.commit(todo.Run))
	case decide.RunPrepare:
		if run := l.run(todo.Run); run.Event != nil {
			l.prepareOne(run)
		} else {
			l.prepare(todo.Run)
		}
	case decide.RunMutate:
		_ = l.step(l.mutate(todo.Run))
	case decide.RunNext:
		_ = l.step(l.commit(todo.Run))
	case decide.AwaitCall:
		l.settle(todo.Mutation, "")
	case decide.ReconcileMutation:
		l.reconcile(todo.Mutation)
	case decide.Wait:
		if todo.Until != 0 && l.chance(60) {
			l.now = max(l.now, todo.Until)
			_ = l.step(decide.Tick{})
		}
	}
}

func (l *life) commit(run eventlog.RunID) decide.CommitRun {
	c := decide.CommitRun{Run: run}
	if l.chance(25) {
		c.Failure = l.failure()
		return c
	}
	for range l.int("publishes", 0, 2) {
		l.ids++
		id := l.ids
		if l.chance(30) {
			id = l.int("id", 1, l.ids)
		}
		c.Publishes = append(c.Publishes, decide.Publish{
			Topics:    []eventlog.Topic{eventlog.Topic(l.pick("topic", "in", "out", "out", "free", "nowhere"))},
			MessageID: eventlog.MessageID(fmt.Sprintf("e%d", id)), Title: "T",
		})
	}
	if l.chance(30) {
		c.State = []byte(`1`)
	}
	return c
}

func (l *life) mutate(run eventlog.RunID) decide.FinishMutate {
	c := decide.FinishMutate{Run: run}
	switch l.int("mutate", 0, 5) {
	case 0:
		c.Failure = l.failure()
		if l.chance(30) { // a call that must not be sent (F14)
			c.Call = &eventlog.MutationCall{Connector: "m", Operation: "send", ParamsHash: "h", TimeoutMS: 1000}
		}
	case 1:
	default:
		c.Call = &eventlog.MutationCall{Connector: "m", Operation: "send", ParamsHash: "h", TimeoutMS: 1000,
			Reconciles: l.chance(60)}
		if c.Call.Reconciles && l.chance(40) {
			c.Call.ResendMS = time.Hour.Milliseconds()
		}
	}
	return c
}

func (l *life) prepare(run eventlog.RunID) {
	l.seen = l.state
	c := decide.FinishPrepare{Run: run, Seen: l.state}
	if l.chance(15) {
		c.Failure = l.failure()
	}
	c.Prepared.Raw = []byte(`{}`)
	consumer, _ := l.state.Script(l.run(run).Version).Definition.Consumer(l.run(run).Handler)
	for _, topic := range consumer.Subscribe {
		for e := range l.state.Pending(topic) {
			if !e.Visible(l.now) {
				continue
			}
			switch n := l.int("choice", 0, 9); {
			case n < 6:
				c.Prepared.Reservations = append(c.Prepared.Reservations, eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID})
			case n == 6:
				c.Prepared.Cancel = append(c.Prepared.Cancel, eventlog.Cancellation{Topic: e.Topic, MessageID: e.MessageID})
			}
		}
	}
	if l.chance(5) {
		c.Prepared.Reservations = append(c.Prepared.Reservations, eventlog.EventRef{Topic: "in", MessageID: "e1"})
	}
	if l.chance(20) {
		c.Prepared.WakeAt = l.now.Add(time.Hour)
	}
	for l.chance(10) { // the world goes on while the script runs
		l.aside()
	}
	if len(c.Prepared.Reservations) == 0 && consumer.HasNext && l.chance(50) {
		next := l.commit(run)
		c.Next = &next
	}
	if len(c.Prepared.Reservations) > 0 && consumer.HasMutate && l.chance(50) {
		mutated := l.mutate(run)
		c.Mutate = &mutated
	}
	_ = l.step(c)
}
