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

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// follow applies what other engines write to the partition, until ctx ends or the partition is damaged. This engine
// does not own it meanwhile.
func (p *partition) follow(ctx context.Context) {
	trouble := schedule.Pacer{Pauses: rereadPauses}
	for ctx.Err() == nil && p.stoppedBy() == nil {
		err := p.watch(ctx)
		if err == nil || ctx.Err() != nil || p.stoppedBy() != nil {
			continue
		}
		pause, shouldLog := trouble.Failed(err)
		if shouldLog {
			p.process.Log.Warn("what other engines write cannot be followed; trying again", "partition", p.number, "error", err,
				"in", pause)
		}
		clock.Sleep(ctx, pause)
	}
}

// watch reads on from what is dealt with, and applies it.
func (p *partition) watch(ctx context.Context) error {
	for _, r := range p.all() {
		if !r.workflow.behind.Load() {
			continue
		}
		if err := r.workflow.follow(ctx); err != nil && !errors.Is(err, process.ErrStopped) {
			return err
		}
	}
	p.mu.Lock()
	from := p.progress.Next
	p.mu.Unlock()
	for r, err := range p.process.Config.Log.Watch(ctx, p.number, from) {
		if r.Position.Seq != 0 {
			// Every sequence is accounted for, and all before this one is dealt with: what is not yielded was accepted as lost.
			p.skipTo(r.Position.Seq)
		}
		switch {
		case err != nil && p.unreadable(r, err):
		case errors.Is(err, eventlog.ErrDamaged):
			p.stop(err)
			return err
		case err != nil:
			return fmt.Errorf("follow partition %d: %w", p.number, err)
		default:
			if err := p.followRecord(ctx, r); err != nil {
				return fmt.Errorf("follow partition %d at %s: %w", p.number, r.Position, err)
			}
		}
	}
	return nil
}

// errPendingAppend: what this engine has handed to the log is not known to be written or refused.
var errPendingAppend = errors.New("an append of this engine is not settled")

// followRecord applies one record of another engine, or passes over one that is applied.
func (p *partition) followRecord(ctx context.Context, r eventlog.Record) error {
	if err := p.lag.Wait(ctx); err != nil {
		return err
	}
	a := p.open(r.Workflow)
	if why := a.stoppedBy(); why != nil {
		p.passed(a, r, why)
		return nil
	}
	if err := a.beginRecording(ctx); err != nil {
		return err
	}
	defer a.engine.Recordings.Done()
	defer a.endRecording()
	if a.pendingAppend != nil && r.Position.Seq > a.state().Head.Seq {
		return errPendingAppend
	}
	a.evict()
	if err := a.replayRecord(r); err != nil && !errors.Is(err, projections.ErrBroken) {
		return err
	}
	return nil
}

// await returns once everything up to seq is dealt with, or with ctx's error.
func (p *partition) await(ctx context.Context, seq uint64) error {
	return p.advanced.Wait(ctx, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.progress.Next > seq
	})
}

// lookEvery is how often a partition that is followed is compared with the log's head.
const lookEvery = time.Second

// watchHead notes again and again whether the partition is read up to the log's head, until ctx ends.
func (p *partition) watchHead(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if !p.tenure().Holds() {
			p.lookAtHead(ctx)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (p *partition) lookAtHead(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, 5*lookEvery)
	defer cancel()
	now := clock.Elapsed()
	last, err := p.process.Config.Log.Last(limited, p.number)
	if err == nil && p.await(limited, last) == nil {
		p.freshAt.Store(int64(now))
	}
}

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

// Recorded collects where that stands in the log which a caller has had recorded: see WithRecorded.
type Recorded struct {
	mu sync.Mutex
	at map[int]uint64
}

// WithRecorded has the positions of what is recorded under the context noted.
func WithRecorded(ctx context.Context) (context.Context, *Recorded) {
	r := &Recorded{at: map[int]uint64{}}
	return context.WithValue(ctx, recordedKey{}, r), r
}

type recordedKey struct{}

// noteRecorded notes a position, if the caller wants to know it.
func noteRecorded(ctx context.Context, at eventlog.Position) {
	r, ok := ctx.Value(recordedKey{}).(*Recorded)
	if !ok || at.Seq == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[at.Partition] = max(r.at[at.Partition], at.Seq)
}

// Positions are the newest of each partition, in their order.
func (r *Recorded) Positions() []eventlog.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]eventlog.Position, 0, len(r.at))
	for p, seq := range maps.All(r.at) {
		all = append(all, eventlog.Position{Partition: p, Seq: seq})
	}
	slices.SortFunc(all, func(a, b eventlog.Position) int { return cmp.Compare(a.Partition, b.Partition) })
	return all
}

// AwaitPositions returns once this engine has read the log up to these positions, so that what it answers holds them.
// ErrUnavailable: it has not before ctx ended, or there is no such partition.
func (e *Engine) AwaitPositions(ctx context.Context, at ...eventlog.Position) error {
	if err := e.available(ctx); err != nil {
		return err
	}
	for _, position := range at {
		if position.Partition < 0 || position.Partition >= len(e.partitions) {
			return fmt.Errorf("%w: there is no partition %d, there are %d", process.ErrUnavailable, position.Partition,
				len(e.partitions))
		}
		if err := e.partitions[position.Partition].await(ctx, position.Seq); err != nil {
			return fmt.Errorf("%w: this engine has not read the log up to %s: %w", process.ErrUnavailable, position, err)
		}
	}
	return nil
}
