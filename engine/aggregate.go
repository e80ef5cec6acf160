package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/engine/memory"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/engine/signal"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// aggregate is one workflow: its state, and the only way in which that changes (record). Its runner decides
// what to do next, its calls are the mutations under way.
//
// Locking: one lock, recording. Only its holder replaces the state or appends to the log; before the partition
// starts, its replay does so alone. State, stopped, damage and behind are atomic and may be looked at without it.
type aggregate struct {
	engine *process.Process
	// partition is the number of the workflow's partition, and journal keeps how far that partition is dealt with.
	partition int
	journal   journal
	name      eventlog.WorkflowName
	log       *slog.Logger
	memory    memory.Memory
	// calls get the mutations whose start is durable.
	calls outbox
	// changed rings when the state may have changed: the runner then looks at it again.
	changed signal.Bell

	// stopped is why this workflow is out of service.
	stopped atomic.Pointer[error]
	// damage is what the check of the log has found to be wrong with the workflow's past; while it is set, nothing new
	// begins.
	damage atomic.Pointer[DamagedPast]
	// behind says that the log is known to hold records of the workflow that are not read yet.
	behind atomic.Bool

	// proposals wait for the lock below.
	proposals proposals
	// recording is a lock that gives up when its context ends.
	recording chan struct{}
	// Under recording:
	pendingAppend *pendingAppend                         // appends whose fate is not known yet
	schedules     map[eventlog.Handler]schedule.Schedule // of the version below
	scheduled     eventlog.Version
}

// journal keeps how far a partition is dealt with, for the store's checkpoint, and whether this engine owns it.
type journal interface {
	// tenure is the time in which this engine owns the partition; nil while it does not.
	tenure() *process.Tenure
	// applied notes that a record is part of its workflow's state, passed that it will not be, and why.
	applied(*aggregate, eventlog.Record)
	passed(a *aggregate, r eventlog.Record, why error)
	// flush brings the store to the present.
	flush() error
	// last is the end of the partition's log. The error says so where the log has become newer than this version reads.
	last(ctx context.Context) (uint64, error)
}

// outbox is where the requests of mutations leave.
type outbox interface {
	// send sends the request of a mutation that the log has just taken as started, or as sent again. It returns at once.
	// decided is the tenure in which that was decided. Overtaken says that others have written to the workflow since.
	send(m *projections.Mutation, decided *process.Tenure, overtaken bool)
	// unseenOf is how long the outside may go on with the calls that runs of another process have in flight.
	unseenOf(*projections.State) time.Duration
	// outlook is what this process knows of the call of an indeterminate mutation.
	outlook(*projections.State, eventlog.MutationID) Outlook
}

// Outlook is what an engine knows now of the call of an indeterminate mutation besides what the log says.
type Outlook struct {
	// MayTakeEffect says that the call can still take effect, so a person cannot know yet that it did not happen (O1).
	// Until is the time from which it cannot take effect any more; zero while the exchange is open, since its end is
	// not known.
	MayTakeEffect bool
	Until         eventlog.Instant
	// Asking is how it can be found out now what became of it. Asks says that something may come of trying that again
	// (O3); NotAsked says why nothing would.
	Asking   decide.Asking
	Asks     bool
	NotAsked string
}

func newAggregate(
	p *process.Process, number int, j journal, name eventlog.WorkflowName, s *projections.State,
) *aggregate {
	a := &aggregate{
		engine: p, partition: number, journal: j, name: name, log: p.Log.With("workflow", string(name)),
		changed: signal.NewBell(), recording: make(chan struct{}, 1),
	}
	a.memory.Set(s)
	return a
}

// state is the workflow's newest state. It never changes once read.
func (a *aggregate) state() *projections.State { return a.memory.State() }

func (a *aggregate) now() eventlog.Instant { return eventlog.At(a.engine.Config.Clock.Now()) }

// nudge makes the runner look at the state again.
func (a *aggregate) nudge() { a.changed.Ring() }

// stoppedBy is why the workflow is out of service, nil while it is not.
func (a *aggregate) stoppedBy() error {
	if found := a.stopped.Load(); found != nil {
		return *found
	}
	return nil
}

// damagedBy is what is known to be damaged of the workflow's past, nil for nothing.
func (a *aggregate) damagedBy() *DamagedPast { return a.damage.Load() }

// stop takes the workflow out of service: its past cannot be folded or its rules are broken.
// Everything else goes on.
func (a *aggregate) stop(err error) {
	if a.stopped.CompareAndSwap(nil, &err) {
		a.log.Error("workflow stopped: its log cannot be followed", "error", err, "hint", hint.Of(hint.VerifyWorkflow))
	}
	a.engine.Idle.Notify()
}

// beginRecording locks for a recording whose end the engine waits for. It refuses once the engine has ended.
func (a *aggregate) beginRecording(ctx context.Context) error {
	if err := a.lock(ctx); err != nil {
		return a.nothingRecorded(err)
	}
	if !a.engine.Decisions.Begin() {
		a.endRecording()
		return a.nothingRecorded(errEnded)
	}
	return nil
}

// lock keeps others from recording.
func (a *aggregate) lock(ctx context.Context) error {
	select {
	case a.recording <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endRecording ends a recording, and tells those that wait for rest: see quiet.
func (a *aggregate) endRecording() {
	<-a.recording
	a.engine.Idle.Notify()
}

// errEnded: the engine takes nothing any more.
var errEnded = fmt.Errorf("the engine has ended: %w", eventlog.ErrClosed)

func (a *aggregate) nothingRecorded(why error) error {
	return fmt.Errorf("record on %s: %w: %w", a.name, process.ErrNothingRecorded, why)
}

// evict removes from memory what a committed checkpoint holds: finished entities altogether, and of a long backlog's
// pending events all but their places. The caller holds recording.
func (a *aggregate) evict() {
	if a.pendingAppend != nil {
		return // its transition will be applied to the state that was read for it
	}
	a.memory.Evict(a.engine.Config.Window)
}

// release lets committed entities leave memory, now if nothing is being recorded, else with the next
// record. It reports whether they have left.
func (a *aggregate) release(keys []projections.Key) bool {
	a.memory.Committed(keys)
	select {
	case a.recording <- struct{}{}:
		a.evict()
		a.endRecording()
		return true
	default:
		return false
	}
}

// standstill is what keeps the workflow from beginning anything.
func (a *aggregate) standstill() decide.Standstill {
	switch {
	case a.damagedBy() != nil:
		return decide.DamageStandstill
	case a.engine.Standstill() != nil:
		return decide.EngineStandstill
	}
	if t := a.journal.tenure(); !t.Holds() || t.Draining.Load() {
		return decide.EngineStandstill // another engine goes on with it
	}
	return decide.NoStandstill
}

// DamagedPast is the first damage that was found in a workflow's past, and when it was found.
type DamagedPast struct {
	Err   error
	Since eventlog.Instant
	found Finding
}

// Finding numbers the damage that was found, in the order in which it was found.
type Finding uint64

// pendingAppend is a group of transitions whose fate is not known: nothing else is appended before it is.
type pendingAppend struct {
	entries     []eventlog.Entry
	transitions []eventlog.Transition
	folded      []*projections.Folded // of each transition, nil where it has to be folded again
	written     []eventlog.Written    // of the first entries
	decided     *process.Tenure       // in which they were decided
}

func (u *pendingAppend) add(e eventlog.Entry, t eventlog.Transition, folded *projections.Folded) {
	t.Revision, t.Prev = e.Expected.Revision+1, e.Expected.Hash
	u.entries, u.transitions, u.folded = append(u.entries, e), append(u.transitions, t), append(u.folded, folded)
}

// unwritten is what is not known to be written, on the head that stands before it.
func (u *pendingAppend) unwritten() []eventlog.Entry {
	n := len(u.written)
	if n > 0 && n < len(u.entries) {
		u.entries[n].Expected.Seq = u.written[n-1].Seq
	}
	return u.entries[n:]
}

// record is one of the transitions as it stands in the log.
func (u *pendingAppend) record(i, partition int, seq uint64) eventlog.Record {
	return eventlog.Record{
		Position: eventlog.Position{Partition: partition, Seq: seq}, Hash: u.entries[i].Hash(),
		Size: len(u.entries[i].Stored), Transition: u.transitions[i],
	}
}
