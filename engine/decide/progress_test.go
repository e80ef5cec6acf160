package decide_test

import (
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// settleDown gives every todo a good outcome and every wait what it waits for, and expects an end.
func (l *life) settleDown() {
	l.hold = decide.NoStandstill
	_ = l.step(decide.SetGrants{Grants: map[string]eventlog.Grant{"*": eventlog.GrantAllow}})
	_ = l.step(decide.Tick{})
	for range 2000 {
		todo := l.next()
		var err error
		if wait, waits := todo.(decide.Wait); !waits {
			err = l.carryOut(todo)
		} else {
			var rest bool
			if rest, err = l.help(wait); rest {
				l.atRest()
				return
			}
		}
		if err != nil {
			l.t.Fatalf("no progress at %+v: %v", l.next(), err)
		}
		l.noLostWakeUp()
	}
	l.t.Fatalf("never at rest: %+v, workflow %+v", l.next(), l.state.Workflow)
}

// carryOut does what is to be done, with a good outcome.
func (l *life) carryOut(todo decide.Todo) error {
	switch todo := todo.(type) {
	case decide.StartRun:
		return l.step(decide.Tick{})
	case decide.BeginEvent:
		return l.step(decide.Tick{Place: &todo.Place})
	case decide.CrashRun:
		return l.step(decide.Recover{})
	case decide.RunProducer:
		return l.step(decide.CommitRun{Run: todo.Run})
	case decide.RunNext:
		return l.step(decide.CommitRun{Run: todo.Run})
	case decide.RunPrepare:
		if run := l.run(todo.Run); run.Event != nil {
			return l.step(decide.FinishPrepare{Run: run.ID, Seen: l.state,
				Prepared: decide.Prepared{Raw: []byte(`{}`), Reservations: []eventlog.EventRef{*run.Event}}})
		}
		return l.prepareAll(todo.Run)
	case decide.RunMutate:
		return l.step(decide.FinishMutate{Run: todo.Run, Call: &eventlog.MutationCall{Connector: "m", Operation: "send",
			TimeoutMS: 1000}})
	case decide.AwaitCall:
		return l.step(decide.SettleMutation{Mutation: todo.Mutation, Outcome: decide.Settlement{Status: decide.Applied}})
	case decide.ReconcileMutation:
		return l.step(decide.SettleMutation{Mutation: todo.Mutation, Outcome: decide.Settlement{Status: decide.Applied},
			By: eventlog.ResolvedByReconcile})
	}
	l.t.Fatalf("nothing is known of %T", todo)
	return nil
}

func (l *life) prepareAll(run eventlog.RunID) error {
	l.seen = l.state
	c := decide.FinishPrepare{Run: run, Seen: l.state, Prepared: decide.Prepared{Raw: []byte(`{}`)}}
	consumer, _ := l.state.Script(l.run(run).Version).Definition.Consumer(l.run(run).Handler)
	for _, topic := range consumer.Subscribe {
		for e := range l.state.Pending(topic) {
			if e.Visible(l.now) {
				c.Prepared.Reservations = append(c.Prepared.Reservations, eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID})
			}
		}
	}
	return l.step(c)
}

// help does what a wait is for. It reports true when nothing but schedules is left.
func (l *life) help(wait decide.Wait) (rest bool, err error) {
	switch wait.Reason {
	case decide.ReasonUserPause:
		return false, l.step(decide.Resume{})
	case decide.ReasonApproval:
		if l.state.Pause != nil {
			return false, l.step(decide.Resume{})
		}
		return false, l.step(decide.Approve{Mutation: eventlog.MutationID(wait.Subject)})
	case decide.ReasonIndeterminate:
		return false, l.step(decide.Resolve{Mutation: eventlog.MutationID(wait.Subject), Resolution: decide.Skip})
	case decide.ReasonBlocked:
		return false, l.step(decide.Resume{})
	case decide.ReasonMaintenance:
		cmd := definition(split(fmt.Sprint("deploy fixed src=fix", l.seq)))
		cmd.Definition = *l.state.Definition()
		cmd.Grants = map[string]eventlog.Grant{"*": eventlog.GrantAllow}
		return false, l.step(cmd)
	case decide.ReasonReconcile, decide.ReasonBackoff:
		l.now = wait.Until
		return false, l.step(decide.Tick{})
	case decide.ReasonScheduled, decide.ReasonWake:
		if !l.waiting() {
			return true, nil
		}
		l.now = wait.Until
		return false, l.step(decide.Tick{})
	case decide.ReasonIdle, decide.ReasonArchived:
		return true, nil
	}
	return false, errors.New("unexpected reason " + string(wait.Reason))
}

// waiting reports whether a job still waits for its retry time.
func (l *life) waiting() bool {
	for e := range l.state.Scheduled(l.now) {
		if _, ok := l.state.Definition().Subscriber(e.Topic); ok {
			return true
		}
	}
	return false
}

func (l *life) atRest() {
	s := l.state
	if s.Archived {
		return
	}
	if s.Current != "" || s.PendingRetry != "" || s.Blocked != nil || s.Maintenance != nil || s.Session != "" {
		l.t.Fatalf("not at rest: %+v", s.Workflow)
	}
	for _, e := range s.Events() {
		if e.Status == eventlog.EventStatusReserved {
			l.t.Fatalf("event %s of %s is still reserved", e.MessageID, e.Topic)
		}
	}
}

// countInputs compares the inputs' counters with their events (Causes).
func (l *life) countInputs() {
	want := map[eventlog.InputID][4]int{}
	for _, row := range l.store {
		e, ok := row.(*projections.TopicEvent)
		if !ok {
			continue
		}
		for _, id := range e.CausedBy {
			n := want[id]
			switch e.Status {
			case eventlog.EventStatusPending, eventlog.EventStatusReserved:
				n[0]++
			case eventlog.EventStatusConsumed:
				n[1]++
			case eventlog.EventStatusDiscarded:
				n[3]++
			default:
				n[2]++
			}
			want[id] = n
		}
	}
	for _, row := range l.store {
		if in, ok := row.(*projections.Input); ok {
			if got := [4]int{in.Open, in.Consumed, in.Skipped, in.Discarded}; got != want[in.ID] {
				l.t.Fatalf("input %s counts %v; its events say %v", in.ExternalID, got, want[in.ID])
			}
		}
	}
}
