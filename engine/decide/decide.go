package decide

import (
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// ErrStale says that the command reports on a run that is no longer active: drop it.
var ErrStale = errors.New("the run is no longer active")

// ErrPrepareAgain says that an event which prepare chose was skipped or cancelled while it ran.
// That is not the author's fault: run prepare again, nothing is recorded (R9).
var ErrPrepareAgain = errors.New("a chosen event is gone, prepare runs again")

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
	// MostHeld bounds the events that a concurrent consumer may have held: with so many no run begins (C3).
	MostHeld int
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

// Decision is what a command came to.
type Decision struct {
	Kind  eventlog.FactType
	Facts []eventlog.Fact
	// Warnings are for the run's log, not for the record.
	Warnings []string
	// Pushed answers a Push, one per item.
	Pushed []PushResult
	// Bulk answers a ChangeEvents; nil otherwise.
	Bulk *BulkResult
	// Queued answers a RunNow; nil otherwise.
	Queued *Queued
}

// Empty reports whether there is nothing to append.
func (d Decision) Empty() bool { return len(d.Facts) == 0 }

// Transition returns the decision as a transition without id, revision and previous hash.
func (d Decision) Transition(w eventlog.WorkflowName, env Env) eventlog.Transition {
	return eventlog.Transition{Workflow: w, At: env.Now, Actor: env.Actor, Cause: env.Cause, Kind: d.Kind, Facts: d.Facts}
}

// Decide carries out the command on the state. Errors: *Refusal, ErrStale, ErrPrepareAgain; any
// other error is a defect and wraps projections.ErrBroken or names missing knowledge.
func Decide(s projections.State, w eventlog.WorkflowName, env Env, known Known, cmd Command) (Decision, error) {
	meta := eventlog.Transition{Workflow: w, At: env.Now, Actor: env.Actor, Cause: env.Cause}
	d := &decision{env: env, known: known, draft: projections.NewDraft(s, meta, s.Head.Seq+1),
		runs: append([]eventlog.RunID{env.Run}, env.Runs...)}
	if err := ownsNo(w, cmd); err != nil {
		return Decision{}, err
	}
	if !s.Exists() {
		switch cmd.(type) {
		case Deploy, CreateToken, RevokeToken, AcceptLoss, ConfirmNames:
		case Tick, Recover:
			return Decision{}, nil // a worker may look before the first deploy is recorded
		default:
			return Decision{}, unknownWorkflow(w)
		}
	}
	err := cmd.decide(d)
	if err == nil {
		d.startOwedRun()
		d.beginRuns()
		d.queued(cmd)
	}
	// A defect goes before the answer: that may follow from what was not known.
	if d.err != nil {
		return Decision{}, fmt.Errorf("decide %T on %s: %w", cmd, w, d.err)
	}
	if err != nil {
		return Decision{}, err
	}
	facts := d.draft.Facts()
	if d.kind == "" && len(facts) > 0 {
		d.kind = facts[0].FactType()
	}
	return Decision{Kind: d.kind, Facts: facts, Warnings: d.warnings, Pushed: d.pushed, Bulk: d.bulk, Queued: d.queue}, nil
}

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

// emit adds a fact. The first error sticks: it is a defect, not an outcome.
func (d *decision) emit(f eventlog.Fact) {
	dropWish(f)
	if d.err == nil {
		d.err = d.draft.Add(f)
	}
}

// lead emits the fact that names the transition.
func (d *decision) lead(f eventlog.Fact) {
	d.kind = f.FactType()
	d.emit(f)
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

// RefusalKind says how an operation was refused.
type RefusalKind int

// The kinds of refusals, as an interface maps them.
const (
	Invalid  RefusalKind = iota // the request makes no sense (422)
	NotFound                    // what it names does not exist (404)
	Conflict                    // not in this state (409)
	TooMany                     // too much waits already (429)
)

// Refusal is an operation that changes nothing, with the reason that its caller is told.
type Refusal struct {
	Kind    RefusalKind
	Code    string
	Message string
	Hint    string
}

func (r *Refusal) Error() string { return r.Message }

func refuse(kind RefusalKind, code, format string, args ...any) *Refusal {
	return &Refusal{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

func (r *Refusal) hint(format string, args ...any) *Refusal {
	r.Hint = fmt.Sprintf(format, args...)
	return r
}

func failure(class eventlog.Class, code, format string, args ...any) *eventlog.Failure {
	return &eventlog.Failure{Class: class, Code: code, Message: fmt.Sprintf(format, args...)}
}
