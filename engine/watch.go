package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/checkpoint"
	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// followPauses are the pauses between two attempts to follow a partition. Failures of a long time count together, and
// an engine that is given the partition's lease has to read on at once, so they stay short.
var followPauses = schedule.Transient{Base: time.Second, Factor: 2, Max: 5 * time.Second}

// follow applies what other engines write to the partition, until ctx ends or the partition is damaged. This engine
// does not own it meanwhile.
func (p *partition) follow(ctx context.Context) {
	retries := schedule.Pacer{Pauses: followPauses}
	for ctx.Err() == nil && p.stoppedBy() == nil {
		err := p.watch(ctx)
		if err == nil || ctx.Err() != nil || p.stoppedBy() != nil {
			continue
		}
		pause, shouldLog := retries.Failed(err)
		if shouldLog {
			p.process.Log.Warn("what other engines write cannot be followed; trying again", "partition", p.number, "error", err,
				"in", pause)
		}
		clock.Sleep(ctx, pause)
	}
}

// watch applies the records behind those that are dealt with, as they are written.
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
			// Every sequence is accounted for, and all before this one are dealt with: a sequence that is not yielded was
			// accepted as lost.
			p.skipTo(r.Position.Seq)
		}
		if errors.Is(err, eventlog.ErrUnreadable) {
			if _, err := p.last(ctx); err != nil { // it may be newer than this version, which is no damage
				return fmt.Errorf("follow partition %d at %s: %w", p.number, r.Position, err)
			}
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

// unreadable stops the one workflow that the record belongs to. It reports false when that is
// not known, which concerns the whole partition.
func (p *partition) unreadable(r eventlog.Record, err error) bool {
	if !errors.Is(err, eventlog.ErrUnreadable) || r.Workflow == "" {
		return false
	}
	p.open(r.Workflow).stopAt(r, fmt.Errorf("record %s: %w", r.Position, err))
	return true
}

// errPendingAppend: what this engine has handed to the log is not known to be written or refused.
var errPendingAppend = errors.New("an append of this engine is not settled")

// followRecord applies one record of another engine, or passes over one that is applied already.
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
	defer a.engine.Decisions.Done()
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

// watchHead notes again and again whether the partition is read up to the log's head, until ctx ends. Its owner has
// read all, so an engine that has just handed a partition over is not behind.
func (p *partition) watchHead(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if now := clock.Elapsed(); p.tenure().Holds() {
			p.freshAt.Store(int64(now))
			p.stalled.Store(false)
		} else {
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
	last, err := p.last(limited)
	if err == nil && p.await(limited, last) == nil {
		p.freshAt.Store(int64(now))
		p.stalled.Store(false)
	}
}

// gapTimeout is how long a gap stays open at least before the partition reads the records in it. Almost always
// an acknowledgement that is on its way closes it before.
const gapTimeout = time.Second

// rereadPauses are the pauses between two readings of a gap that stays open.
var rereadPauses = schedule.Transient{Base: time.Second, Factor: 2, Max: 5 * time.Minute}

// openGap is a gap that was there at the last look.
type openGap struct {
	reading schedule.Pacer
	again   time.Time // not before
}

// watchGaps reads what stands in gaps that stay open: this engine neither wrote it nor read it.
func (p *partition) watchGaps(ctx context.Context) {
	ticker := time.NewTicker(max(gapTimeout, p.process.Config.FlushEvery))
	defer ticker.Stop()
	known := map[checkpoint.Gap]*openGap{}
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		gaps := p.gaps(ctx)
		still := make(map[checkpoint.Gap]*openGap, len(gaps))
		for _, g := range gaps {
			o := known[g]
			switch {
			case o == nil:
				o = &openGap{reading: schedule.Pacer{Pauses: rereadPauses}}
			case !time.Now().Before(o.again):
				p.inspectGap(ctx, g, o)
			}
			still[g] = o
		}
		known = still
	}
}

// gaps are the stretches of the log that this engine has neither written nor read. An owner does not follow its
// partition: in a cluster, what others have written at the end of the log shows only when the log is asked for its end.
func (p *partition) gaps(ctx context.Context) []checkpoint.Gap {
	if p.process.Config.Leases != nil && !p.tenure().Holds() {
		return nil // it is followed
	}
	last := uint64(0)
	if p.process.Config.Leases != nil {
		limited, cancel := context.WithTimeout(ctx, gapTimeout)
		defer cancel()
		last, _ = p.last(limited) // the next look may see more
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	gaps, end := p.progress.Gaps(), p.progress.End()
	if last >= end {
		gaps = append(gaps, checkpoint.Gap{From: end, To: last})
	}
	return gaps
}

// inspectGap reads a gap, and logs what no workflow's runner can deal with.
func (p *partition) inspectGap(ctx context.Context, g checkpoint.Gap, o *openGap) {
	at, err := p.readGap(ctx, g)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		o.again = time.Now().Add(o.reading.Again()) // the runners of its workflows read it now
		return
	}
	pause, shouldLog := o.reading.Failed(err)
	o.again = time.Now().Add(pause)
	switch {
	case !shouldLog:
	case at.Seq != 0:
		p.process.Log.Error("the log holds a message that belongs to no workflow, or lacks one: "+
			"the store's checkpoint stays before it, and no engine starts on it",
			"position", at.String(), "error", err, "hint", hint.Of(hint.Verify))
	default:
		p.process.Log.Warn("what others have written cannot be read yet; trying again", "partition", p.number, "from", g.From,
			"error", err, "in", pause)
	}
}

// readGap wakes the runner of each record in the gap, which then reads on by itself. It returns the first error that
// concerns no workflow, and its position unless it is a failure to read.
func (p *partition) readGap(ctx context.Context, g checkpoint.Gap) (first eventlog.Position, failed error) {
	for r, err := range p.process.Config.Log.Read(ctx, p.number, g.From) {
		switch {
		case err != nil && r.Position.Seq == 0:
			return r.Position, err
		case r.Position.Seq > g.To:
			return first, failed
		case r.Workflow != "":
			p.markBehind(r)
		case failed == nil:
			first, failed = r.Position, err
		}
	}
	return first, failed
}

// markBehind tells the runner of the record's workflow, a new one if it is the workflow's first, that the log
// holds more than is read.
func (p *partition) markBehind(r eventlog.Record) {
	a := p.openBehind(r.Workflow)
	if why := a.stoppedBy(); why != nil {
		p.passed(a, r, why)
		return
	}
	a.nudge()
}
