package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/checkpoint"
	"github.com/pawl-run/pawl/engine/loss"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// partition is one partition of the log: its workflows, its replay and its checkpoint.
type partition struct {
	engine *Engine
	number int
	ctx    context.Context // the runners'; set by start
	done   sync.WaitGroup

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
	p.done.Add(1)
	go func() {
		defer p.done.Done()
		r.run(p.ctx)
	}()
}

// replay brings memory and store to the log's head. A store that turns out to be damaged is
// disposable: it is emptied, and the whole log is read.
func (p *partition) replay(ctx context.Context) error {
	err := p.replayOnto(ctx)
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	p.engine.log.Warn("the local store is damaged and is rebuilt from the log", "partition", p.number, "error", err)
	if err := p.engine.cfg.Store.Reset(); err != nil {
		return fmt.Errorf("reset the store: %w", err)
	}
	p.reset()
	return p.replayOnto(ctx)
}

// replayOnto reads the checkpoint's live work, then the tail after it.
func (p *partition) replayOnto(ctx context.Context) error {
	log, st := p.engine.cfg.Log, p.engine.cfg.Store
	cp, found, err := st.Checkpoint(p.number)
	if err != nil {
		return fmt.Errorf("read the store's checkpoint: %w", err)
	}
	if found && cp.Identity != log.Identity(p.number) {
		p.engine.log.Warn("the local store belongs to another log and is rebuilt", "partition", p.number)
		if err := st.Reset(); err != nil {
			return fmt.Errorf("reset the store: %w", err)
		}
		found, cp = false, store.Checkpoint{}
	}
	last, err := log.Last(ctx, p.number)
	if err != nil {
		return fmt.Errorf("find the end of the log: %w", err)
	}
	if found {
		p.progress.From(cp)
		if err := p.restore(); err != nil {
			return err
		}
	}
	return p.replayTail(ctx, cp, last)
}

// replayTail reads the log from the checkpoint to its last sequence. It refuses a log that does not hold all
// that the store has seen of it.
func (p *partition) replayTail(ctx context.Context, cp store.Checkpoint, last uint64) error {
	seen, heads := loss.Ahead{Partition: p.number, Seen: cp.Seq, End: last}, map[eventlog.WorkflowName]eventlog.Head{}
	for name, r := range p.runners {
		heads[name] = r.workflow.state().Head
		seen.Seen = max(seen.Seen, heads[name].Seq)
	}
	if seen.Seen > last {
		return seen.Refuse()
	}
	witness := loss.NewWitness(cp, heads, cp.Seq)
	if err := p.retryStopped(ctx); err != nil {
		return err
	}
	count := 0
	for r, err := range p.engine.cfg.Log.Read(ctx, p.number, max(cp.Seq, 1)) {
		witness.See(r)
		if r.Position.Seq != 0 {
			// Every sequence is accounted for: what is not yielded was accepted as lost.
			p.skipTo(r.Position.Seq)
		}
		if err != nil {
			if p.unreadable(r, err) {
				continue
			}
			return fmt.Errorf("replay partition %d: %w", p.number, err)
		}
		p.lastAt = max(p.lastAt, r.At)
		if r.Position.Seq == cp.Seq {
			if r.Hash != cp.Hash {
				return seen.Refuse()
			}
			continue
		}
		a := p.open(r.Workflow)
		if err := a.stoppedBy(); err != nil {
			p.passed(a, r, err)
			continue
		}
		if err := a.replayRecord(r); err != nil && !errors.Is(err, projections.ErrBroken) {
			return err
		}
		if count++; count%replayBatch == 0 || p.lag.Due() {
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	if !witness.Agrees() {
		return seen.Refuse()
	}
	p.skipTo(last + 1)
	if _, resumes := p.engine.cfg.Clock.(interface{ Resume(time.Time) }); resumes && p.lastAt == 0 && cp.Seq > 1 {
		if err := p.findLastAt(ctx, cp.Seq-1); err != nil {
			return err
		}
	}
	return p.flush()
}

// findLastAt looks further back for the newest transition that can be read, where the checkpoint's own cannot: a
// manual clock goes on from there, and must not begin again.
func (p *partition) findLastAt(ctx context.Context, before uint64) error {
	for back := uint64(16); p.lastAt == 0; back *= 16 {
		from := uint64(1)
		if before > back {
			from = before - back
		}
		for r, err := range p.engine.cfg.Log.Read(ctx, p.number, from) {
			switch {
			case err == nil:
				p.lastAt = max(p.lastAt, r.At)
			case !errors.Is(err, eventlog.ErrUnreadable) && !errors.Is(err, eventlog.ErrDamaged):
				return fmt.Errorf("find the time of the newest transition in partition %d: %w", p.number, err)
			}
			if r.Position.Seq >= before {
				break
			}
		}
		if from == 1 {
			return nil
		}
	}
	return nil
}

// unreadable stops the one workflow that the record belongs to. It reports false when that is
// not known, which concerns the whole partition.
func (p *partition) unreadable(r eventlog.Record, err error) bool {
	if !errors.Is(err, eventlog.ErrUnreadable) || r.Workflow == "" {
		return false
	}
	p.open(r.Workflow).stopAt(r, fmt.Errorf("record %s: %w", r.Position, err))
	return true
}

// restore reads the checkpoint's live work.
func (p *partition) restore() error {
	names, err := p.engine.cfg.Store.Workflows(p.number)
	if err != nil {
		return fmt.Errorf("list the store's workflows: %w", err)
	}
	for _, name := range names {
		s, err := p.engine.cfg.Store.Load(name)
		if err != nil {
			return fmt.Errorf("load workflow %s from the store: %w", name, err)
		}
		p.runners[name] = newRunner(newAggregate(p.engine.process, p.number, p, name, s))
	}
	return nil
}

// retryStopped reads workflows that were stopped, and that the checkpoint has gone on without, from their last
// good record on: this version may follow what another one could not.
func (p *partition) retryStopped(ctx context.Context) error {
	stops, err := p.engine.cfg.Store.Stops(p.number)
	if err != nil {
		return fmt.Errorf("list the store's stopped workflows: %w", err)
	}
	for _, stop := range stops {
		a := p.open(stop.Workflow)
		switch err := a.catchUp(ctx); {
		case errors.Is(err, errStopped): // it has said why
		case err != nil:
			return err
		default:
			p.engine.log.Info("a workflow that was stopped can be followed again", "workflow", stop.Workflow, "stoppedAt",
				stop.Seq, "was", stop.Reason)
			p.mu.Lock()
			p.resumed = append(p.resumed, stop.Workflow)
			p.touched[a] = struct{}{}
			p.mu.Unlock()
		}
	}
	return nil
}

// start lets the runners work until ctx ends.
func (p *partition) start(ctx context.Context) {
	p.mu.Lock()
	p.ctx = ctx
	for _, r := range p.runners {
		p.launch(r)
	}
	p.mu.Unlock()
	for _, keep := range []func(context.Context){p.writeBehind, p.watchGaps} {
		p.done.Add(1)
		go func() {
			defer p.done.Done()
			keep(ctx)
		}()
	}
}

func (p *partition) join() { p.done.Wait() }
