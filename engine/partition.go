package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// replayBatch is after how many records at the latest a replay writes to the store, so that its memory
// stays flat.
const replayBatch = 5000

// partition is one partition of the log: its workers, its replay and its checkpoint.
type partition struct {
	engine *Engine
	number int
	ctx    context.Context // the workers'; set by start
	done   sync.WaitGroup

	mu      sync.Mutex
	workers map[eventlog.WorkflowName]*worker
	// low is the last record up to which everything is applied; done holds those applied
	// beyond it.
	low     store.Checkpoint
	lastAt  eventlog.Instant // of the newest transition replayed
	ahead   map[uint64]store.Checkpoint
	touched map[*worker]struct{} // workers with something to flush

	flushing sync.Mutex
	flushNow chan struct{}
	lag      lag
}

func newPartition(e *Engine, number int) *partition {
	return &partition{
		engine: e, number: number, workers: map[eventlog.WorkflowName]*worker{}, ahead: map[uint64]store.Checkpoint{},
		touched: map[*worker]struct{}{}, flushNow: make(chan struct{}, 1),
	}
}

func (p *partition) worker(name eventlog.WorkflowName) (*worker, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ok := p.workers[name]
	return w, ok
}

func (p *partition) all() []*worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*worker, 0, len(p.workers))
	for _, w := range p.workers {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *worker) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return all
}

// open returns the workflow's worker, making one for a name not seen before.
func (p *partition) open(name eventlog.WorkflowName) *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ok := p.workers[name]
	if !ok {
		w = newWorker(p, name, projections.State{})
		p.workers[name] = w
	}
	p.launch(w)
	return w
}

// launch starts the worker's goroutine once the partition runs. Under p.mu.
func (p *partition) launch(w *worker) {
	if p.ctx == nil || p.ctx.Err() != nil || w.started {
		return
	}
	w.started = true
	p.done.Add(1)
	go func() {
		defer p.done.Done()
		w.run(p.ctx)
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
	p.mu.Lock()
	clear(p.workers)
	clear(p.ahead)
	clear(p.touched)
	p.mu.Unlock()
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
		if err := p.restore(); err != nil {
			return err
		}
	}
	seen, heads := Ahead{Partition: p.number, Seen: cp.Seq, End: last}, map[eventlog.WorkflowName]eventlog.Head{}
	for name, w := range p.workers {
		heads[name] = w.state().Head
		seen.Seen = max(seen.Seen, heads[name].Seq)
	}
	if seen.Seen > last {
		return seen.refuse()
	}
	witness := newWitness(cp, heads, cp.Seq)
	p.low = cp
	p.low.Identity = log.Identity(p.number)
	count := 0
	for r, err := range log.Read(ctx, p.number, max(cp.Seq, 1)) {
		witness.saw(r)
		if err != nil {
			if p.unreadable(r, err) {
				continue
			}
			return fmt.Errorf("replay partition %d: %w", p.number, err)
		}
		p.lastAt = max(p.lastAt, r.At)
		if r.Position.Seq == cp.Seq {
			if r.Hash != cp.Hash {
				return seen.refuse()
			}
			continue
		}
		w := p.open(r.Workflow)
		if w.stoppedBy() != nil {
			p.applied(w, r)
			continue
		}
		if err := w.replayRecord(r); err != nil && !errors.Is(err, projections.ErrBroken) {
			return err
		}
		if count++; count%replayBatch == 0 || p.lag.due() {
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	if !witness.agrees() {
		return seen.refuse()
	}
	return p.flush()
}

// unreadable stops the one workflow that the record belongs to. It reports false when that is
// not known, which concerns the whole partition.
func (p *partition) unreadable(r eventlog.Record, err error) bool {
	if !errors.Is(err, eventlog.ErrUnreadable) || r.Workflow == "" {
		return false
	}
	w := p.open(r.Workflow)
	w.stop(fmt.Errorf("record %s: %w", r.Position, err))
	p.applied(w, r)
	return true
}

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
		p.workers[name] = newWorker(p, name, s)
	}
	return nil
}

// start lets the workers run until ctx ends.
func (p *partition) start(ctx context.Context) {
	p.mu.Lock()
	p.ctx = ctx
	for _, w := range p.workers {
		p.launch(w)
	}
	p.mu.Unlock()
	p.done.Add(1)
	go func() {
		defer p.done.Done()
		p.writeBehind(ctx)
	}()
}

func (p *partition) join() { p.done.Wait() }

// applied notes that the record is part of its worker's state.
func (p *partition) applied(w *worker, r eventlog.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.touched[w] = struct{}{}
	if p.lag.grow(r.Size) {
		select {
		case p.flushNow <- struct{}{}:
		default:
		}
	}
	seq := r.Position.Seq
	if seq <= p.low.Seq {
		return
	}
	p.ahead[seq] = store.Checkpoint{Seq: seq, Transition: r.ID, Hash: r.Hash, Identity: p.low.Identity}
	for {
		next, ok := p.ahead[p.low.Seq+1]
		if !ok {
			return
		}
		delete(p.ahead, next.Seq)
		p.low = next
	}
}

// writeBehind writes what changed to the store, coalesced.
func (p *partition) writeBehind(ctx context.Context) {
	ticker := time.NewTicker(p.engine.cfg.FlushEvery)
	defer ticker.Stop()
	told := false
	for {
		select {
		case <-ticker.C:
		case <-p.flushNow:
		case <-ctx.Done():
			return
		}
		switch err := p.flush(); {
		case err == nil:
			told = false
		case errors.Is(err, store.ErrFailed):
			return // the engine ends, and says why
		case !told:
			// The store is disposable: without it, memory grows and starts take longer, but
			// nothing is lost.
			told = true
			p.engine.log.Error("the local store cannot be written; finished work stays in memory", "error", err)
		}
	}
}

// flush commits every change so far. Each workflow's rows are a cut at its own revision; the
// checkpoint is the point up to which all of them are complete.
func (p *partition) flush() (err error) {
	p.flushing.Lock()
	defer p.flushing.Unlock()
	p.mu.Lock()
	low := p.low // read before the states: they include everything up to it
	touched := p.touched
	p.touched = map[*worker]struct{}{}
	p.lag.begin()
	p.mu.Unlock()
	defer func() { p.lag.end(err) }()
	if len(touched) == 0 {
		return nil
	}
	batch := store.Batch{Partition: p.number, Checkpoint: low}
	flushed := make(map[*worker][]projections.Key, len(touched))
	for w := range touched {
		w.mu.Lock()
		keys := slices.Collect(maps.Keys(w.dirty))
		if len(keys) > 0 {
			w.flushing, w.dirty = w.dirty, map[projections.Key]struct{}{}
		}
		s := *w.state()
		w.mu.Unlock()
		flushed[w] = keys
		if len(keys) > 0 {
			batch.Changes = append(batch.Changes, store.Change{State: s, Touched: keys})
		}
	}
	if err := p.engine.cfg.Store.Commit(batch); err != nil {
		p.mu.Lock()
		for w := range flushed {
			p.touched[w] = struct{}{}
			w.mu.Lock()
			for k := range w.flushing {
				w.dirty[k] = struct{}{}
			}
			w.flushing = nil
			w.mu.Unlock()
		}
		p.mu.Unlock()
		return fmt.Errorf("write the local store: %w", err)
	}
	for w, keys := range flushed {
		if !w.release(keys) {
			p.mu.Lock()
			p.touched[w] = struct{}{} // the next flush tries again if no record does before
			p.mu.Unlock()
		}
	}
	return nil
}

// release lets committed entities leave memory, now if nobody is recording, else with the next
// record. It reports whether they have left.
func (w *worker) release(keys []projections.Key) bool {
	w.mu.Lock()
	w.flushing = nil
	w.evictable = append(w.evictable, keys...)
	w.flushed = true
	w.mu.Unlock()
	select {
	case w.recording <- struct{}{}:
		w.evict()
		w.recorded()
		return true
	default:
		return false
	}
}
