package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
)

// tenure is a time in which this engine owns a partition: it begins when the lease was taken and all that stood in the
// log then is read, and ends with the lease.
type tenure struct {
	// lease is nil where the engine owns everything for good.
	lease *lease.Lease
	// draining: no run begins any more, the partition is about to be handed over.
	draining atomic.Bool
}

// holds reports whether no other engine can own the partition now. A tenure of nil is none.
func (t *tenure) holds() bool { return t != nil && (t.lease == nil || t.lease.Holds()) }

// epoch is that of the lease, 0 where there is none.
func (t *tenure) epoch() uint64 {
	if t == nil || t.lease == nil {
		return 0
	}
	return t.lease.Epoch()
}

// tenure is the present one; nil while another engine owns the partition, or none.
func (p *partition) tenure() *tenure { return p.owned.Load() }

// share follows the partition and owns it whenever this engine is given its lease, until ctx ends. It then hands the
// partition over. Damage of the partition ends it alone.
func (p *partition) share(ctx context.Context) {
	trouble := schedule.Pacer{Pauses: storagePauses}
	for ctx.Err() == nil && p.stoppedBy() == nil {
		err := p.shareOnce(ctx)
		switch {
		case err == nil:
			trouble.Succeeded()
		case ctx.Err() == nil && p.stoppedBy() == nil:
			pause, shouldLog := trouble.Failed(err)
			if shouldLog {
				p.engine.log.Warn("a partition could not be taken over; trying again", "partition", p.number, "error", err,
					"in", pause)
			}
			clock.Sleep(ctx, pause)
		}
	}
}

// shareOnce follows the partition until this engine is given the lease, then catches up and owns it for as long as that
// lasts.
func (p *partition) shareOnce(ctx context.Context) error {
	l, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	t := &tenure{lease: l}
	err = p.own(ctx, t)
	giveBack, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	if backErr := l.GiveBack(giveBack); backErr != nil {
		p.engine.log.Warn("a partition could not be given back; another engine takes it once the lease is old", "partition",
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
	l, err := p.engine.cfg.Leases.Acquire(following, p.number)
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
// was acknowledged before.
func (p *partition) catchUpWith(ctx context.Context, l *lease.Lease) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-l.Ending():
			cancel(fmt.Errorf("the lease has ended: %w", l.Cause()))
		case <-ctx.Done():
		}
	}()
	last, err := p.engine.cfg.Log.Last(ctx, p.number)
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
	if err != nil {
		return fmt.Errorf("catch up on partition %d: %w", p.number, err)
	}
	return nil
}

// checkAcknowledged holds the log against what this engine has read of it before: a log that has lost some of that, or
// holds something else there, stops the partition before anything leaves.
func (p *partition) checkAcknowledged(ctx context.Context) error {
	checker, ok := p.engine.cfg.Log.(eventlog.PlaceChecker)
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

// stoppedBy says why the partition is out of service on this engine; nil while it is not.
func (p *partition) stoppedBy() error {
	if found := p.stopped.Load(); found != nil {
		return *found
	}
	return nil
}

// stop takes the partition out of service: its log is damaged. The others go on.
func (p *partition) stop(err error) {
	if p.stopped.CompareAndSwap(nil, &err) {
		p.engine.log.Error("a partition of the log is damaged: this engine does not run its workflows", "partition", p.number,
			"error", err, "hint", hint.Of(hint.Verify))
	}
	p.engine.idle.Notify()
}

// own runs the partition's workflows until the lease ends or ctx does. Before it lets go of a lease that still holds,
// active handlers may end.
func (p *partition) own(ctx context.Context, t *tenure) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	stopAnswering, err := p.answer(p.engine.life)
	if err != nil {
		return err
	}
	defer stopAnswering()
	p.begin(work, t)
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { p.keepMark(work, t) })
	if duties := p.engine.cfg.Duties; duties != nil && p.number == dutiesWith {
		beside.Go(func() { p.perform(work, t, duties) })
	}
	p.engine.idle.Notify()
	select {
	case <-t.lease.Ending():
	case <-ctx.Done():
	case <-p.engine.writable.Done():
	}
	if t.holds() {
		p.drain(t)
	}
	p.end(stop)
	p.engine.idle.Notify()
	return nil
}

// dutiesWith is the partition whose owner does what one engine does for all.
const dutiesWith = 0

// perform does what one engine does for all, until ctx ends or the lease does.
func (p *partition) perform(ctx context.Context, t *tenure, duties func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-t.lease.Over(): // the work of the partition takes longer to end
			cancel()
		case <-ctx.Done():
		}
	}()
	duties(ctx)
}

// drain keeps new runs from starting, and waits for the active ones, while the lease holds.
func (p *partition) drain(t *tenure) {
	t.draining.Store(true)
	ctx, cancel := context.WithTimeout(p.engine.writable, p.engine.cfg.DrainTimeout)
	defer cancel()
	go func() {
		select {
		case <-t.lease.Over():
			cancel()
		case <-ctx.Done():
		}
	}()
	all := p.all()
	for _, r := range all {
		r.workflow.nudge()
	}
	_ = p.engine.idle.Wait(ctx, func() bool {
		for _, r := range all {
			if !noActiveRun(r) {
				return false
			}
		}
		return true
	})
}
