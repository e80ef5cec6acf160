package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pawl-run/pawl/engine/checkpoint"
	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/signal"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// partition is one partition of the log: its workflows, its replay and its checkpoint.
type partition struct {
	engine *Engine
	number int
	ctx    context.Context // the runners'; set by begin
	// working are the runners of the present tenure, done what is at work all the time.
	working, done sync.WaitGroup
	owned         atomic.Pointer[tenure] // nil while another engine owns it, or none
	stopped       atomic.Pointer[error]  // why this engine neither follows nor owns it any more
	advanced      signal.Change          // tells that more is dealt with
	taken         atomic.Uint64          // counts the tenures
	refused       atomic.Uint64          // counts what was not recorded for want of an owner
	freshAt       atomic.Int64           // when it was last known to be at the log's head, by the clock that cannot be set

	mu       sync.Mutex
	runners  map[eventlog.WorkflowName]*runner
	progress checkpoint.Progress
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
	p := &partition{engine: e, number: number, lag: e.lags[number], flushNow: make(chan struct{}, 1)}
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
	p.progress.From(store.Checkpoint{Identity: p.engine.cfg.Log.Identity(p.number)})
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
		r = newRunner(newAggregate(p.engine.process, p.number, p, name, projections.State{}))
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
	p.working.Go(func() { r.run(ctx) })
}

// begin lets the runners work for the tenure, until ctx ends.
func (p *partition) begin(ctx context.Context, t *tenure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ctx = ctx
	for _, r := range p.runners {
		if r.found = 0; t.lease != nil {
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
	p.working.Wait()
}

// start begins what is at work until ctx ends, whichever engine owns the partition.
func (p *partition) start(ctx context.Context) {
	p.done.Go(func() { p.writeBehind(ctx) })
	p.done.Go(func() { p.watchGaps(ctx) })
	if p.engine.cfg.Leases != nil {
		p.freshAt.Store(int64(clock.Elapsed())) // it has just been replayed
		p.done.Go(func() { p.watchHead(ctx) })
	}
}

// join waits for the end of all that is at work.
func (p *partition) join() {
	p.working.Wait()
	p.done.Wait()
}
