package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine/checkpoint"
	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/engine/signal"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// partition is one partition of the log: its workflows, its replay and its checkpoint.
type partition struct {
	engine *Engine
	// process is the engine's.
	process *process.Process
	number  int
	ctx     context.Context // the runners'; set by begin
	// runnersDone waits for the runners of the present tenure, backgroundDone for what is at work all the time.
	runnersDone, backgroundDone sync.WaitGroup

	owned    atomic.Pointer[process.Tenure] // nil while another engine owns it, or none
	stopped  atomic.Pointer[error]          // why this engine neither follows nor owns it any more
	advanced signal.Change                  // tells that more is dealt with
	taken    atomic.Uint64                  // counts the tenures
	refused  atomic.Uint64                  // counts what was not recorded because there was no owner
	stalled  atomic.Bool                    // held a lease, read nothing, and has not reached the log's end since
	freshAt  atomic.Int64                   // when it was last at the log's head, by the clock that cannot be set

	mu       sync.Mutex
	runners  map[eventlog.WorkflowName]*runner
	progress checkpoint.Progress
	read     uint64                  // counts what was dealt with, in any order
	lastAt   eventlog.Instant        // of the newest transition replayed
	touched  map[*aggregate]struct{} // workflows with something to flush
	// stops and resumed are what the store is to be told next of workflows that progress goes on without.
	stops   map[eventlog.WorkflowName]store.Stop
	resumed []eventlog.WorkflowName
	// skipped are the workflows that progress has gone on without.
	skipped map[eventlog.WorkflowName]bool

	flushing sync.Mutex
	flushNow chan struct{}
	lag      *checkpoint.Lag
}

func newPartition(e *Engine, number int) *partition {
	p := &partition{engine: e, process: e.process, number: number, lag: e.process.Lags[number],
		flushNow: make(chan struct{}, 1)}
	p.reset()
	return p
}

// reset begins anew, with nothing.
func (p *partition) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runners, p.touched, p.skipped = map[eventlog.WorkflowName]*runner{}, map[*aggregate]struct{}{},
		map[eventlog.WorkflowName]bool{}
	p.stops, p.resumed = map[eventlog.WorkflowName]store.Stop{}, nil
	p.progress.From(store.Checkpoint{Identity: p.process.Config.Log.Identity(p.number)})
}

func (p *partition) runner(name eventlog.WorkflowName) (*runner, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.runners[name]
	return r, ok
}

func (p *partition) workflow(name eventlog.WorkflowName) (*aggregate, bool) {
	r, ok := p.runner(name)
	if !ok {
		return nil, false
	}
	return r.workflow, true
}

// all lists the runners by the names of their workflows.
func (p *partition) all() []*runner {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.runners), func(a, b *runner) int {
		return cmp.Compare(a.workflow.name, b.workflow.name)
	})
}

// tenure is the present one; nil while another engine owns the partition, or none.
func (p *partition) tenure() *process.Tenure { return p.owned.Load() }

// stoppedBy says why the partition is out of service on this engine; nil while it is not.
func (p *partition) stoppedBy() error {
	if found := p.stopped.Load(); found != nil {
		return *found
	}
	return nil
}

// lacksRecords reports whether other engines should have this engine's partitions, since it made no progress in reading
// this one. One that is damaged is out of service by itself.
func (p *partition) lacksRecords() bool { return p.stalled.Load() && p.stoppedBy() == nil }

// stop takes the partition out of service: its log is damaged. The others go on.
func (p *partition) stop(err error) {
	if p.stopped.CompareAndSwap(nil, &err) {
		p.process.Log.Error("a partition of the log is damaged: this engine does not run its workflows", "partition",
			p.number, "error", err, "hint", hint.Of(hint.Verify))
	}
	p.advanced.Notify()
	p.process.Idle.Notify()
}

// lookEvery is how often a partition that is followed is compared with the log's head.
const lookEvery = time.Second

// behindBy is for how long the partition may lack what others have written: 0 where this engine owns it or follows it
// closely.
func (p *partition) behindBy() time.Duration {
	if p.process.Config.Leases == nil || p.tenure().Holds() {
		return 0
	}
	since := clock.Elapsed() - time.Duration(p.freshAt.Load())
	if since <= 2*lookEvery {
		return 0
	}
	return since
}

// await returns once everything up to seq is dealt with. Otherwise the error says why it will not be: ctx has ended,
// the partition is damaged, or this engine has ended or cannot read the log any more.
func (p *partition) await(ctx context.Context, seq uint64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.process.Readable, func() { cancel(cmp.Or(p.engine.Outdated(), errEnded)) })()
	var damaged error
	err := p.advanced.Wait(ctx, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.progress.Next > seq {
			return true
		}
		damaged = p.stoppedBy()
		return damaged != nil
	})
	if err != nil {
		return context.Cause(ctx)
	}
	return damaged
}

// open returns the workflow, whose runner is at work once the partition is; it makes both for a name not seen
// before.
func (p *partition) open(name eventlog.WorkflowName) *aggregate { return p.openAs(name, false) }

// openBehind is open for a workflow that has something to read before it does anything else.
func (p *partition) openBehind(name eventlog.WorkflowName) *aggregate { return p.openAs(name, true) }

func (p *partition) openAs(name eventlog.WorkflowName, behind bool) *aggregate {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.runners[name]
	if !ok {
		r = newRunner(newAggregate(p.process, p.number, p, name, new(projections.State)))
		p.runners[name] = r
	}
	if behind {
		r.workflow.behind.Store(true)
	}
	if !ok && p.ctx != nil {
		p.launch(r)
	}
	return r.workflow
}

// launch starts the runner's goroutine, unless the partition has ended. Under p.mu.
func (p *partition) launch(r *runner) {
	if p.ctx.Err() != nil {
		return
	}
	ctx := p.ctx
	p.runnersDone.Go(func() { r.run(ctx) })
}

// begin lets the runners work for the tenure, until ctx ends.
func (p *partition) begin(ctx context.Context, t *process.Tenure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ctx = ctx
	for _, r := range p.runners {
		if r.found = 0; t.Lease != nil {
			r.found = r.workflow.state().Head.Revision
		}
	}
	p.taken.Add(1)
	p.owned.Store(t)
	for _, r := range p.runners {
		p.launch(r)
	}
}

// end lets no runner work any more, and returns once all have ended.
func (p *partition) end(stop context.CancelFunc) {
	p.owned.Store(nil)
	p.mu.Lock()
	stop()
	p.mu.Unlock()
	p.runnersDone.Wait()
}

// Partition is what an engine knows of one partition of the log.
type Partition struct {
	Number int
	// Owned says that this engine owns it; Epoch is then the epoch of its lease, 0 where the engine is alone.
	Owned bool
	Epoch uint64
	// Draining: no run begins there any more, the partition is about to be handed over.
	Draining bool
	// Owner is the engine that was last seen to hold it, and Held whether it still may; empty where the engine is alone.
	Owner lease.Entry
	Held  bool
	// Behind is for how long this engine may lack what others have written; 0 where it follows closely.
	Behind time.Duration
	// Taken counts how often this engine was given the partition, and Refused the requests that found no owner in time.
	Taken, Refused uint64
	// Stopped is why this engine neither follows nor owns it: damage; nil for nothing.
	Stopped error
}

// Behind is for how long this engine may lack what others have written, the longest of all partitions; false where it
// is alone.
func (e *Engine) Behind() (longest time.Duration, shares bool) {
	for _, p := range e.partitions {
		longest = max(longest, p.behindBy())
	}
	return longest, e.process.Config.Leases != nil
}

// Nodes are the engines of the cluster that run, by the names of their nodes; nil where this engine is alone.
func (e *Engine) Nodes() map[string]lease.Node {
	if e.process.Config.Leases == nil {
		return nil
	}
	return e.process.Config.Leases.Nodes()
}

// Partitions lists the partitions of the log, in order.
func (e *Engine) Partitions() []Partition {
	all := make([]Partition, len(e.partitions))
	for i, p := range e.partitions {
		t := p.tenure()
		all[i] = Partition{Number: p.number, Owned: t.Holds(), Epoch: t.Epoch(), Behind: p.behindBy(),
			Taken: p.taken.Load(), Refused: p.refused.Load(), Stopped: p.stoppedBy()}
		if t != nil {
			all[i].Draining = t.Draining.Load()
		}
		if e.process.Config.Leases != nil {
			all[i].Owner, all[i].Held = e.process.Config.Leases.Holder(p.number)
		}
	}
	return all
}

// Outdated is why this engine cannot read the log any more: other engines may write what only a newer version reads. It
// is an eventlog.ErrNewerFormat; nil while the engine can. Such an engine owns no partition and follows none.
func (e *Engine) Outdated() error {
	if err := context.Cause(e.process.Readable); errors.Is(err, eventlog.ErrNewerFormat) {
		return err
	}
	return nil
}

// last is the end of the partition's log. Where the log has become newer than this version reads, the engine leaves its
// partitions to others, for good.
func (p *partition) last(ctx context.Context) (uint64, error) {
	seq, err := p.process.Config.Log.Last(ctx, p.number)
	if errors.Is(err, eventlog.ErrNewerFormat) {
		p.engine.retire(err)
	}
	return seq, err
}

// retire hands the partitions over, once.
func (e *Engine) retire(why error) {
	if e.process.Config.Leases == nil || e.process.Readable.Err() != nil {
		return
	}
	e.process.Log.Error("the log holds what only a newer pawl reads: this engine gives its partitions to the others and "+
		"takes no more", "error", why, "hint", hint.Of(hint.Newer))
	e.process.Config.Leases.Retire()
	e.process.Outdate(why)
}
