package decide

import (
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Env is what a decision may know besides the state: time and chance as values.
type Env struct {
	Now eventlog.Instant
	// Engine names the deciding process incarnation (R14).
	Engine string
	// Run and Session are fresh ids, used if the decision starts one.
	Run     eventlog.RunID
	Session eventlog.SessionID
	// Runs are more fresh ids: concurrent consumers begin as many runs in one transition as there are ids left.
	Runs []eventlog.RunID
	// Jitter is a random number in [0, 1).
	Jitter float64
	// NextDue is each producer's next time after Now (S2).
	NextDue map[eventlog.Handler]eventlog.Instant
	// Unseen is how long the outside may go on after the deadlines of the calls that active runs have in flight, if
	// those are another process's (F5).
	Unseen time.Duration
	// MayTakeEffect says that the call of the mutation that a Resolve names can take effect yet: its request is still
	// open, or was open not long ago in a process that is gone (O1).
	MayTakeEffect bool
	// MaxHeld bounds the events that a concurrent consumer may have held: with so many no run begins (C3).
	MaxHeld int
	// Policies bound retries, budgets and wake times.
	Policies schedule.Policies
	// Hold keeps any run from starting, and any approval from being given.
	Hold HoldReason
	// NamesLost says that workflows may have been lost with all their records: one that has no past here may be
	// such a workflow.
	NamesLost bool
	// Actor and Cause go into the transition.
	Actor eventlog.Actor
	Cause eventlog.Cause
}

// Known lists the history rows that were read for the command. Those that exist are hydrated
// into the state; a key that is listed and not in the state is absent.
type Known map[projections.Key]bool

// decision is one transition in the making: every fact is folded at once, so each rule sees the
// state that the former ones led to.
type decision struct {
	env      Env
	known    Known
	draft    *projections.Draft
	kind     eventlog.FactType
	warnings []string
	pushed   []PushResult
	bulk     *BulkResult
	queue    *Queued
	// neverSent: what failed says nothing of the target (C7).
	neverSent bool
	// runs are the fresh ids that are left.
	runs []eventlog.RunID
	err  error
}

// state is what the facts so far lead to.
func (d *decision) state() *projections.State { return d.draft.State() }

// active returns the run if it is the current one or that of a concurrent consumer, and active.
func (d *decision) active(id eventlog.RunID) (*projections.Run, bool) {
	s := d.state()
	run := s.CurrentRun()
	if s.Open(id) {
		run = s.Run(id)
	}
	if run == nil || run.ID != id || run.Status != eventlog.RunActive {
		return nil, false
	}
	return run, true
}

func (d *decision) consumer(run *projections.Run) eventlog.Consumer {
	script := d.state().Script(run.Version)
	if script == nil {
		return eventlog.Consumer{Name: run.Handler}
	}
	c, _ := script.Definition.Consumer(run.Handler)
	return c
}

// event returns the topic event, live or from history, or nil when there never was one.
func (d *decision) event(topic eventlog.Topic, id eventlog.MessageID) *projections.TopicEvent {
	if e := d.state().Event(topic, id); e != nil {
		return e
	}
	d.demand(projections.EventKey(topic, id))
	return nil
}

func (d *decision) input(id eventlog.InputID) *projections.Input {
	if in := d.state().Input(id); in != nil {
		return in
	}
	d.demand(projections.InputKey(id))
	return nil
}

// demand fails the decision if history was not asked about the key: taking "not read" for "not
// there" would break dedupe (R11).
func (d *decision) demand(k projections.Key) {
	if d.err == nil && !d.known[k] {
		d.err = fmt.Errorf("history of %c %q was not read before the decision", k.Kind, k.ID)
	}
}

// emit adds a fact. The first error sticks: it is a defect, not an outcome.
func (d *decision) emit(f eventlog.Fact) {
	dropWish(f)
	if d.err == nil {
		d.err = d.draft.Add(f)
	}
}

// dropWish leaves out of a fact what the log does not store of a failure (F13), so that the state that
// is folded now is the one that a replay folds.
func dropWish(f eventlog.Fact) {
	switch f := f.(type) {
	case *eventlog.RunFailed:
		f.Failure.RetryAfter = 0
	case *eventlog.MutationFailed:
		f.Failure.RetryAfter = 0
	case *eventlog.MutationRefused:
		f.Failure.RetryAfter = 0
	case *eventlog.MutationReconcileScheduled:
		f.Failure.RetryAfter = 0
	case *eventlog.MutationLeftIndeterminate:
		f.Failure.RetryAfter = 0
	case *eventlog.MutationContradicted:
		if f.Failure != nil {
			plain := *f.Failure
			plain.RetryAfter = 0
			f.Failure = &plain
		}
	}
}

// lead emits the fact that names the transition.
func (d *decision) lead(f eventlog.Fact) {
	d.kind = f.FactType()
	d.emit(f)
}

// led emits a fact and lets the first such name the transition.
func (d *decision) led(f eventlog.Fact) {
	if d.kind == "" {
		d.kind = f.FactType()
	}
	d.emit(f)
}

// freshRun takes the next of the fresh ids. The first is for the one plain run that a transition may start.
func (d *decision) freshRun() eventlog.RunID {
	id := d.runs[0]
	d.runs = d.runs[1:]
	return id
}

func (d *decision) endSession(result eventlog.SessionResult) {
	if session := d.state().OpenSession(); session != nil {
		d.emit(&eventlog.SessionEnded{Session: session.ID, Result: result})
	}
}

func failure(class eventlog.Class, code, format string, args ...any) *eventlog.Failure {
	return &eventlog.Failure{Class: class, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Transition returns the decision as a transition without id, revision and previous hash.
func (d Decision) Transition(w eventlog.WorkflowName, env Env) eventlog.Transition {
	return eventlog.Transition{Workflow: w, At: env.Now, Actor: env.Actor, Cause: env.Cause, Kind: d.Kind, Facts: d.Facts}
}
