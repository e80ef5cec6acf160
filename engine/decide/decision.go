package decide

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// ErrStale says that the command reports on a run that is no longer active: drop it.
var ErrStale = errors.New("the run is no longer active")

// ErrPrepareAgain says that an event which prepare chose was skipped or cancelled while it ran.
// That is not the author's fault: run prepare again, nothing is recorded (R9).
var ErrPrepareAgain = errors.New("a chosen event is gone, prepare runs again")

// Decision is what a command came to.
type Decision struct {
	Kind  eventlog.FactType
	Facts []eventlog.Fact
	// Folded is the state after the facts, for a caller that writes them to the log. It is nil if there are no facts, and
	// if Queued is set.
	Folded *projections.Folded
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

// PushResult answers one item.
type PushResult struct {
	MessageID eventlog.MessageID   `json:"messageId"`
	Result    string               `json:"result"` // PushCreated or PushUpdated
	Status    eventlog.EventStatus `json:"status"`
}

// The results of a push, for each item.
const (
	PushCreated = "created" // the event is new
	PushUpdated = "updated" // it is there already, and what it says may be new
)

// BulkResult answers a bulk command.
type BulkResult struct {
	// Unknown is how many of the events may have had an effect that a redrive would repeat (O11).
	Unknown int `json:"-"`
	// UnknownFirst are the first of these events, at most maxNamed.
	UnknownFirst []eventlog.EventRef `json:"-"`
	Updated      int                 `json:"updated"`
	// AtRunEnd is how many of the updated ones a skip ends only once what is left of their runs has run (O7).
	AtRunEnd int    `json:"atRunEnd,omitempty"`
	Noop     []Noop `json:"noop"`
}

// Noop is an event that a bulk command left as it was.
type Noop struct {
	Topic     eventlog.Topic     `json:"topic"`
	MessageID eventlog.MessageID `json:"messageId"`
	Reason    string             `json:"reason"`
	// Hint names the command that helps. Interfaces add its text to the reason.
	Hint hint.Hint `json:"-"`
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

// Refusal says why an operation was refused, and changed nothing; its caller is told.
type Refusal struct {
	Kind    RefusalKind
	Code    string
	Message string
	// Hint is what its caller can do; every refusal has one.
	Hint hint.Hint
}

func (r *Refusal) Error() string { return r.Message }

func refuse(kind RefusalKind, code, format string, args ...any) *Refusal {
	return &Refusal{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

func (r *Refusal) hint(code hint.Code, values ...any) *Refusal {
	r.Hint = hint.Of(code, values...)
	return r
}

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
	// Asking is how it can be found out now what became of the call of the mutation that a Resolve names (O3).
	Asking Asking
	// MaxHeld bounds the events of a concurrent consumer that are held, or whose run waits for a place: with so many no
	// run begins for another (C3).
	MaxHeld int
	// Policies bound retries, budgets and wake times.
	Policies schedule.Policies
	// Standstill keeps any run from starting, and any approval from being given.
	Standstill Standstill
	// NamesLost says that workflows may have been lost with all their records: one that has no past here may be
	// such a workflow.
	NamesLost bool
	// Actor and Cause go into the transition.
	Actor eventlog.Actor
	Cause eventlog.Cause
}

// decision is one transition in the making: every fact is folded at once, so each rule sees the
// state that the former ones led to.
type decision struct {
	env      Env
	draft    projections.Draft
	kind     eventlog.FactType
	warnings []string
	pushed   []PushResult
	bulk     *BulkResult
	queue    *Queued
	// ours is set where the failure is the fault neither of the event nor of the target, whatever its code: see own.
	// crashed is set where the failure is that of a call that was open when its process ended (J6).
	ours, crashed bool
	// outOfRow is set where a call has never left or its run had ended before: its failure is no part of a row (C7).
	outOfRow bool
	// deadPayloads is how many bytes of payloads are discarded (J7).
	deadPayloads int
	// runs are the fresh ids that are left.
	runs []eventlog.RunID
	// returning is how many bytes the transition has once an approved run comes back with its call: see maxReturning.
	returning int
	err       error
}

// usedDecisions keeps used decisions for reuse. The state of its draft is reused too, unless Folded has taken it. This
// is safe because nothing that Decide returns refers to the decision.
var usedDecisions = sync.Pool{New: func() any { return new(decision) }}

// giveBack empties the decision, except the draft that the next one begins anew, and offers it for reuse.
func (d *decision) giveBack() {
	*d = decision{draft: d.draft}
	usedDecisions.Put(d)
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
	if run == nil || run.ID != id || run.Status != eventlog.RunStatusActive {
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
	e := d.draft.AskEvent(topic, id)
	if e == nil {
		d.err = cmp.Or(d.err, d.draft.Missing())
	}
	return e
}

func (d *decision) input(id eventlog.InputID) *projections.Input {
	in := d.draft.AskInput(id)
	if in == nil {
		d.err = cmp.Or(d.err, d.draft.Missing())
	}
	return in
}

// ask fails the decision if what the key names is not in memory and was not read: taking "not read" for "not
// there" would break dedupe (R11). The decision goes on, to ask for all that it needs at once.
func (d *decision) ask(k projections.Key) {
	d.err = cmp.Or(d.err, d.draft.Ask(k))
}

// emitNaming emits the fact that names the transition.
func (d *decision) emitNaming(f eventlog.Fact) {
	d.kind = f.FactType()
	d.emit(f)
}

// emitNamingIfFirst emits a fact and lets the first such name the transition.
func (d *decision) emitNamingIfFirst(f eventlog.Fact) {
	if d.kind == "" {
		d.kind = f.FactType()
	}
	d.emit(f)
}

// emit adds a fact. The first error sticks: it is a defect, not an outcome, or says what is missing of the history.
// The facts after something that is missing are folded as well, so that one Missing names all that they need.
func (d *decision) emit(f eventlog.Fact) {
	dropRetryAfter(f)
	if d.err == nil || d.draft.Missing() != nil {
		err := d.draft.Add(f)
		d.err = cmp.Or(d.err, err)
	}
}

// dropRetryAfter leaves out of a fact what the log does not store of a failure (F13), so that the state that is folded
// now is the same as the state that a replay folds.
func dropRetryAfter(f eventlog.Fact) {
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

// block sets the system's hold. A hold that only a person's resume may end is not replaced (F12); Resume then sets the
// hold that is still due.
func (d *decision) block(reason eventlog.BlockReason, run eventlog.RunID, format string, args ...any) {
	if b := d.state().Blocked; b != nil && (b.Reason == eventlog.BlockContradiction || b.Reason == eventlog.BlockLoss) {
		return
	}
	d.emit(&eventlog.WorkflowBlocked{Reason: reason, Message: failure("", "", format, args...).Message, Run: run})
}

// unblock ends the system's hold if it is for one of the reasons.
func (d *decision) unblock(reasons ...eventlog.BlockReason) {
	if b := d.state().Blocked; b != nil && slices.Contains(reasons, b.Reason) {
		d.emit(&eventlog.WorkflowUnblocked{})
	}
}

func failure(class eventlog.Class, code, format string, args ...any) *eventlog.Failure {
	return &eventlog.Failure{Class: class, Code: code, Message: fmt.Sprintf(format, args...)}
}
