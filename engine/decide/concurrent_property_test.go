package decide_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// TestConcurrentHistories drives workflows with a concurrent consumer through random outcomes, operators, crashes and
// clocks. It keeps the invariants of bench.check, and reaches rest from wherever it got to. It must reach every fact
// that only concurrent consumers have.
func TestConcurrentHistories(t *testing.T) {
	t.Parallel()
	facts := histories(t, 1, func(l *life) { l.liveConcurrently(150) })
	for _, f := range eventlog.FactTypes() {
		if facts != nil && facts[f] == 0 && eventlog.OfConcurrent(f) {
			t.Errorf("no history had a %s", f)
		}
	}
}

func (l *life) liveConcurrently(steps int) {
	l.drawPolicies()
	l.maxHeld = l.int("held", 1, 6)
	if l.chance(20) {
		l.policies.Transient.Then = schedule.Hold
	}
	l.deployConcurrently()
	for range steps {
		switch {
		case l.chance(15):
			l.pushKeyed()
		case l.chance(20):
			l.asideConcurrently()
		default:
			l.workConcurrently()
		}
	}
	l.settleConcurrently()
	l.countInputs()
}

func (l *life) deployConcurrently() {
	l.version++
	shape := l.pick("shape", "deploy c:in,out", "deploy p c:in d:out", "deploy c:in -next", "deploy c:in,free -mutate")
	w := split(fmt.Sprintf("%s src=%d n=%s by=%s rate=%s", shape, l.version, l.pick("n", "1", "2", "4"),
		l.pick("by", "", "k", "k", "other"), l.pick("rate", "", "", "", "1/s")))
	if l.chance(30) {
		w.named["max"] = l.pick("max", "0", "1", "2")
		w.named["dead"] = l.pick("dead", "", "free", "out")
	}
	if l.chance(30) {
		w.named["grant"] = l.pick("grant", "ask", "deny")
	}
	switch {
	case l.chance(10):
		delete(w.named, "n")
	case l.chance(10):
		w.named["plain"] = l.pick("plain", "c", "d")
	}
	cmd := definition(w)
	if l.state.Exists() && l.chance(40) {
		cmd.Repair, cmd.Expected = true, &l.state.Version
		cmd.Definition = *l.state.Definition()
	}
	_ = l.step(cmd)
}

func (l *life) pushKeyed() {
	c := decide.Push{Topic: eventlog.Topic(l.pick("topic", "in", "in", "out", "free"))}
	for range l.int("items", 1, 4) {
		l.ids++
		id := l.ids
		if l.chance(20) {
			id = l.int("id", 1, l.ids)
		}
		c.Items = append(c.Items, decide.PushItem{MessageID: eventlog.MessageID(fmt.Sprintf("e%d", id)),
			Title:   fmt.Sprint("T", l.ids),
			Payload: fmt.Appendf(nil, `{"k":%d,"other":%d}`, l.int("k", 1, 3), l.int("other", 1, 3))})
	}
	_ = l.step(c)
}

// asideConcurrently is what goes on beside the work, about one of the open runs if there are any.
func (l *life) asideConcurrently() {
	var open []*projections.Run
	for run := range l.state.OpenRuns() {
		open = append(open, run)
	}
	if len(open) == 0 || l.chance(30) {
		if l.chance(20) {
			l.deployConcurrently()
			return
		}
		l.aside()
		return
	}
	run := open[l.int("open", 0, len(open)-1)]
	m := run.Mutation
	switch l.int("what", 0, 9) {
	case 0:
		_ = l.step(decide.Approve{Mutation: m})
	case 1:
		_ = l.step(decide.Reject{Mutation: m})
	case 2, 3:
		_ = l.step(decide.Resolve{Mutation: m,
			Resolution: decide.Resolution(l.pick("resolution", "did_happen", "did_not_happen", "skip", "try_again"))})
	case 4:
		l.settle(m, eventlog.ResolvedByLateReply)
	case 5:
		_ = l.step(decide.SkipEvent{Topic: run.Event.Topic, MessageID: run.Event.MessageID})
	case 6:
		_ = l.step(decide.RedriveJob{Topic: run.Event.Topic, MessageID: run.Event.MessageID})
	case 7:
		_ = l.step(decide.FailRun{Run: run.ID})
	case 8:
		l.state = l.state.PageOut(projections.Window{Events: l.int("window", 0, 3), Bytes: 1 << 20},
			func(projections.Key) bool { return true })
	default:
		_ = l.step(decide.Resume{})
	}
}

// workConcurrently does one of the things that the state owes, with some outcome.
func (l *life) workConcurrently() {
	todos := l.owed()
	l.perform(todos[l.int("todo", 0, len(todos)-1)])
}

func (l *life) prepareOne(run *projections.Run) {
	l.seen = l.state
	c := decide.FinishPrepare{Run: run.ID, Seen: l.state}
	c.Prepared.Raw = []byte(`{}`)
	switch n := l.int("choice", 0, 19); {
	case n < 12:
		c.Prepared.Reservations = []eventlog.EventRef{*run.Event}
	case n < 14:
		c.Prepared.Cancel = []eventlog.Cancellation{{Topic: run.Event.Topic, MessageID: run.Event.MessageID}}
	case n < 17:
		c.Failure = l.failure()
	case n == 17:
		c.Prepared.Reservations = []eventlog.EventRef{{Topic: "in", MessageID: "e1"}}
	}
	if l.chance(20) {
		c.Prepared.WakeAt = l.now.Add(time.Hour)
	}
	for l.chance(10) { // the world goes on while the script runs
		l.asideConcurrently()
	}
	_ = l.step(c)
}

// settleConcurrently gives everything owed a good outcome and every wait what it waits for, and expects an end.
func (l *life) settleConcurrently() {
	l.hold = decide.NoStandstill
	_ = l.step(decide.SetGrants{Grants: map[string]eventlog.Grant{"*": eventlog.GrantAllow}})
	_ = l.step(decide.Tick{})
	for range 5000 {
		if l.state.Archived {
			return
		}
		todos := l.owed()
		work := slices.IndexFunc(todos, func(t decide.Todo) bool { _, waits := t.(decide.Wait); return !waits })
		if work < 0 {
			if l.helpConcurrently(todos) {
				l.atRestConcurrently()
				return
			}
			continue
		}
		err := l.carryOut(todos[work])
		if err != nil {
			l.t.Fatalf("no progress at %+v: %v", todos[work], err)
		}
	}
	l.t.Fatalf("never at rest: %+v, workflow %+v", l.owed(), l.state.Workflow)
}

// helpConcurrently does what the state waits for. It reports true when nothing but schedules is left.
func (l *life) helpConcurrently(todos []decide.Todo) (rest bool) {
	for _, todo := range todos {
		var err error
		switch wait := todo.(decide.Wait); wait.Reason {
		case decide.ReasonUserPause, decide.ReasonBlocked:
			err = l.step(decide.Resume{})
		case decide.ReasonApproval:
			if l.state.Pause != nil {
				_ = l.step(decide.Resume{})
			}
			err = l.step(decide.Approve{Mutation: eventlog.MutationID(wait.Subject)})
		case decide.ReasonIndeterminate:
			err = l.step(decide.Resolve{Mutation: eventlog.MutationID(wait.Subject), Resolution: decide.Skip})
		case decide.ReasonMaintenance:
			l.fix()
		default:
			continue
		}
		if err != nil {
			l.t.Fatalf("no help for %+v: %v", todo, err)
		}
		return false
	}
	freeable := slices.ContainsFunc(l.state.Counts.Held, func(n projections.HeldCount) bool {
		return n.Reason == eventlog.HeldRepair || n.Reason == eventlog.HeldPerson
	})
	if freeable || l.stuckUncertain() {
		before := l.state.Head.Revision
		_ = l.step(decide.Resume{})
		l.fix()
		if l.state.Head.Revision == before {
			l.t.Fatalf("%+v are held and nothing frees them", l.state.Counts.Held)
		}
		return false
	}
	soonest := eventlog.Instant(0)
	for _, todo := range todos {
		wait := todo.(decide.Wait)
		c, _ := l.state.Definition().Consumer(eventlog.Handler(wait.Subject))
		rests := wait.Reason.Meaning() == decide.Rests && !c.Concurrent() // of a concurrent one, an event waits
		if wait.Until != 0 && !rests && (soonest == 0 || wait.Until < soonest) {
			soonest = wait.Until
		}
	}
	if soonest == 0 {
		return true
	}
	l.now = soonest
	_ = l.step(decide.Tick{})
	return false
}

func (l *life) stuckUncertain() bool {
	for _, h := range l.state.Handlers() {
		if len(h.Uncertain) >= 3 {
			return true
		}
	}
	return false
}

// fix deploys the same definition anew, as a person does.
func (l *life) fix() {
	cmd := definition(split(fmt.Sprint("deploy fixed src=fix", l.seq)))
	cmd.Definition = *l.state.Definition()
	cmd.Grants = map[string]eventlog.Grant{"*": eventlog.GrantAllow}
	_ = l.step(cmd)
}

func (l *life) atRestConcurrently() {
	s := l.state
	for run := range s.OpenRuns() {
		l.t.Fatalf("run %s of event %s is still open", run.ID, run.Event.MessageID)
	}
	for _, row := range l.store {
		e, ok := row.(*projections.TopicEvent)
		if !ok {
			continue
		}
		c, _ := s.Definition().Subscriber(e.Topic)
		if e.Status == eventlog.EventStatusReserved || c.Concurrent() && e.Status == eventlog.EventStatusPending {
			l.t.Fatalf("event %s of %s is still %s (%+v), owed %+v", e.MessageID, e.Topic, e.Status, e.Held, l.owed())
		}
	}
}
