package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
)

// followAndOwn follows the partition and owns it whenever this engine is given its lease, until ctx ends. It then hands
// the partition over. Damage of the partition ends it alone.
func (p *partition) followAndOwn(ctx context.Context) {
	retries := schedule.Pacer{Pauses: process.StoragePauses}
	for ctx.Err() == nil && p.stoppedBy() == nil {
		err := p.followAndOwnOnce(ctx)
		switch {
		case err == nil:
			retries.Succeeded()
		case ctx.Err() == nil && p.stoppedBy() == nil:
			pause, shouldLog := retries.Failed(err)
			if shouldLog {
				p.process.Log.Warn("a partition could not be taken over; trying again", "partition", p.number, "error", err,
					"in", pause)
			}
			clock.Sleep(ctx, pause)
		}
	}
}

// followAndOwnOnce follows the partition until this engine is given the lease, then catches up and owns it for as long
// as that lasts.
func (p *partition) followAndOwnOnce(ctx context.Context) error {
	l, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	t := &process.Tenure{Lease: l}
	err = p.own(ctx, t)
	giveBack, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	if backErr := l.GiveBack(giveBack); backErr != nil {
		p.process.Log.Warn("a partition could not be given back; another engine takes it once the lease is old", "partition",
			p.number, "error", backErr)
	}
	return err
}

// giveBackTimeout bounds the attempt to give a lease back: it is taken when it is old anyway.
const giveBackTimeout = 5 * time.Second

// acquire follows the partition until this engine holds its lease and has read all that stood in the log when it took
// it. Nothing follows the partition once it has returned.
func (p *partition) acquire(ctx context.Context) (*lease.Lease, error) {
	following, stop := context.WithCancel(ctx)
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		p.follow(following)
		if p.stoppedBy() != nil {
			stop() // what cannot be followed is not owned
		}
	}()
	defer func() {
		stop()
		<-followed
	}()
	l, err := p.process.Config.Leases.Acquire(following, p.number)
	if err != nil {
		return nil, err
	}
	if err := p.catchUpWith(following, l); err != nil {
		giveBack, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
		defer cancel()
		return nil, errors.Join(err, l.GiveBack(giveBack))
	}
	return l, nil
}

// catchUpWith returns once the partition is read up to where the log ended after the lease was taken, and holds what
// was acknowledged before. The format of the log is checked here, under the lease. Since this engine opened the log,
// the former owner may have written what this version does not read, but only after the log said so, and before the
// end that is read here. What a later raise of the format allows is written by the owner alone, which is this engine.
func (p *partition) catchUpWith(ctx context.Context, l *lease.Lease) error {
	ctx, cancel := whileLeased(ctx, l.Ending(), l)
	defer cancel()
	ctx, stop := p.whileReading(ctx)
	defer stop()
	last, err := p.last(ctx)
	if err == nil {
		err = p.await(ctx, last)
	}
	if err == nil {
		err = p.checkAcknowledged(ctx)
	}
	if err == nil {
		err = p.checkMark(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if errors.Is(err, errStalled) {
		p.stalled.Store(true)
	}
	if err != nil {
		return fmt.Errorf("catch up on partition %d: %w", p.number, err)
	}
	return nil
}

// whileLeased ends as ctx does, and with the lease's cause once its channel is closed.
func whileLeased(ctx context.Context, closed <-chan struct{}, l *lease.Lease) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-closed:
			cancel(fmt.Errorf("the lease has ended: %w", l.Cause()))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// stallTimeout is how long an engine that was given a partition may read nothing of it. Then another engine gets it.
const stallTimeout = time.Minute

// errStalled ends the lease of a partition that this engine does not read.
var errStalled = fmt.Errorf("this engine read nothing of the partition for %s and gives the lease back", stallTimeout)

// whileReading ends as ctx does, and with errStalled once nothing of the partition was read for stallTimeout.
// Records of single workflows count too, although progress moves only when no gap is before them.
func (p *partition) whileReading(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	read := func() uint64 {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.read
	}
	go func() {
		const looks = 12 // in that time
		ticker := time.NewTicker(stallTimeout / looks)
		defer ticker.Stop()
		for at, still := read(), 0; still < looks; still++ {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			if now := read(); now != at {
				at, still = now, -1
			}
		}
		cancel(errStalled)
	}()
	return ctx, func() { cancel(nil) }
}

// checkAcknowledged compares the log with what this engine has read of it before: a log that has lost some of that, or
// has something else in its place, stops the partition before anything leaves.
func (p *partition) checkAcknowledged(ctx context.Context) error {
	checker, ok := p.process.Config.Log.(eventlog.PlaceChecker)
	p.mu.Lock()
	low := p.progress.Low
	p.mu.Unlock()
	if !ok || low.Seq == 0 {
		return nil
	}
	err := checker.CheckPlace(ctx, p.number, low.Seq, low.Hash)
	if errors.Is(err, eventlog.ErrDamaged) {
		p.stop(err)
	}
	return err
}

// own runs the partition's workflows until the lease ends or ctx does. Before it lets go of a lease that still holds,
// active handlers may end.
func (p *partition) own(ctx context.Context, t *process.Tenure) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	stopAnswering, err := p.answer(p.process.Life, t.Epoch())
	if err != nil {
		return err
	}
	defer stopAnswering()
	p.begin(work, t)
	var background sync.WaitGroup
	defer background.Wait()
	background.Go(func() { p.keepMark(work, t) })
	if duties := p.process.Config.Duties; duties != nil && p.number == dutiesWith {
		background.Go(func() { p.runDuties(work, t, duties) })
	}
	p.process.Idle.Notify()
	select {
	case <-t.Lease.Ending():
	case <-ctx.Done():
	case <-p.process.Writable.Done():
	}
	if t.Holds() {
		p.drain(t)
	}
	p.end(stop)
	p.process.Idle.Notify()
	return nil
}

// dutiesWith is the partition whose owner does what one engine does for all.
const dutiesWith = 0

// runDuties does what one engine does for all, until ctx ends or the lease does.
func (p *partition) runDuties(ctx context.Context, t *process.Tenure, duties func(context.Context)) {
	ctx, cancel := whileLeased(ctx, t.Lease.Over(), t.Lease) // the work of the partition takes longer to end
	defer cancel()
	duties(ctx)
}

// drain keeps new runs from starting, and waits for the active ones, while the lease holds.
func (p *partition) drain(t *process.Tenure) {
	t.Draining.Store(true)
	ctx, cancel := context.WithTimeout(p.process.Writable, p.process.Config.DrainTimeout)
	defer cancel()
	ctx, end := whileLeased(ctx, t.Lease.Over(), t.Lease)
	defer end()
	all := p.all()
	for _, r := range all {
		r.workflow.nudge()
	}
	_ = p.process.Idle.Wait(ctx, func() bool {
		for _, r := range all {
			if !noActiveRun(r) {
				return false
			}
		}
		return true
	})
}

// raiseEvery is how often an owner copies its mark to where it outlives its node.
const raiseEvery = time.Second

// keepMark copies how far the log is dealt with into the mark that all engines see, for as long as the tenure lasts.
func (p *partition) keepMark(ctx context.Context, t *process.Tenure) {
	ticker := time.NewTicker(raiseEvery)
	defer ticker.Stop()
	raised, failing := uint64(0), false
	for t.Holds() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		p.mu.Lock()
		low := p.progress.Low
		p.mu.Unlock()
		if low.Seq <= raised {
			continue
		}
		err := t.Lease.RaiseMark(ctx, lease.Mark{Log: p.process.Config.Log.Identity(p.number), Seq: low.Seq,
			Hash: hex.EncodeToString(low.Hash[:])})
		if err == nil {
			raised = low.Seq
		}
		failed := err != nil && ctx.Err() == nil
		if failed && !failing {
			p.process.Log.Warn("the mark of a partition cannot be raised; trying again", "partition", p.number, "error", err)
		}
		failing = failed
	}
}

// checkMark compares the log with the mark that former owners have left: a log that lacks what they knew to be
// acknowledged, or has something else in its place, stops the partition before anything leaves.
func (p *partition) checkMark(ctx context.Context) error {
	log := p.process.Config.Log
	checker, ok := log.(eventlog.PlaceChecker)
	if !ok {
		return nil
	}
	mark, err := p.process.Config.Leases.Mark(ctx, p.number)
	if err != nil || mark.Seq == 0 || mark.Log != log.Identity(p.number) {
		return err // another log: a person has accepted what it lacks
	}
	var hash eventlog.Hash
	if n, err := hex.Decode(hash[:], []byte(mark.Hash)); err != nil || n != len(hash) {
		return fmt.Errorf("read the mark of partition %d: its hash %q is none", p.number, mark.Hash)
	}
	err = checker.CheckPlace(ctx, p.number, mark.Seq, hash)
	if errors.Is(err, eventlog.ErrDamaged) {
		err = fmt.Errorf("node %s has noted message %d of partition %d as acknowledged: %w", mark.Node, mark.Seq, p.number,
			err)
		p.stop(err)
	}
	return err
}
