package engine

import (
	"log/slog"
	"sync/atomic"

	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// aggregate is one workflow: its state, and the only way in which that changes (record). Its runner decides
// what to do next, its calls are the mutations under way.
//
// Locking: one lock, recording. Only its holder replaces the state or appends to the log; before the partition
// starts, its replay does so alone. State, stopped, damage and behind are atomic and may be looked at without it.
type aggregate struct {
	engine *Engine
	part   *partition
	name   eventlog.WorkflowName
	log    *slog.Logger
	memory memory
	calls  calls
	// changed rings when the state may have changed: the runner then looks at it again.
	changed bell

	// stopped is why this workflow is out of service.
	stopped atomic.Pointer[error]
	// damage is what the check of the log has found of the workflow's past: nothing new begins.
	damage atomic.Pointer[DamagedPast]
	// behind says that the log is known to hold records of the workflow that are not read yet.
	behind atomic.Bool

	// recording is a lock that gives up when its context ends.
	recording chan struct{}
	// Under recording:
	unsettled *unsettled                             // an append whose fate is not known yet
	schedules map[eventlog.Handler]schedule.Schedule // of the version below
	scheduled eventlog.Version
}

func newAggregate(p *partition, name eventlog.WorkflowName, s projections.State) *aggregate {
	a := &aggregate{
		engine: p.engine, part: p, name: name, log: p.engine.log.With("workflow", string(name)),
		changed: newBell(), recording: make(chan struct{}, 1),
	}
	a.memory.current.Store(&s)
	a.calls.workflow = a
	return a
}

// state is the workflow's newest state. It never changes once read.
func (a *aggregate) state() *projections.State { return a.memory.state() }

func (a *aggregate) now() eventlog.Instant { return eventlog.At(a.engine.cfg.Clock.Now()) }

// nudge makes the runner look at the state again.
func (a *aggregate) nudge() { a.changed.ring() }

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
		a.log.Error("workflow stopped: its log cannot be followed; run `pawl verify`", "error", err)
	}
	a.engine.idle.rested()
}

// evict lets go of what a committed checkpoint holds: of finished entities altogether, of a long
// backlog's pending events but for their places. Under recording.
func (a *aggregate) evict() {
	if a.unsettled != nil {
		return // it will be applied to what was read for it, once it is known to be written
	}
	a.memory.evict(a.engine.cfg.Window)
}

// release lets committed entities leave memory, now if nothing is being recorded, else with the next
// record. It reports whether they have left.
func (a *aggregate) release(keys []projections.Key) bool {
	a.memory.committed(keys)
	select {
	case a.recording <- struct{}{}:
		a.evict()
		a.recorded()
		return true
	default:
		return false
	}
}

// bell wakes one runner. Rings that come while it works are one: it looks at all there is.
type bell struct {
	rings atomic.Uint64
	rung  chan struct{}
}

func newBell() bell { return bell{rung: make(chan struct{}, 1)} }

func (b *bell) ring() {
	b.rings.Add(1)
	select {
	case b.rung <- struct{}{}:
	default:
	}
}
