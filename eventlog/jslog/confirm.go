package jslog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/eventlog"
)

const (
	// busyPause is how long a write with the same fence takes to get out of the way.
	busyPause = time.Millisecond
	// retryPause is the longest pause between two attempts.
	retryPause = 250 * time.Millisecond
	// maxBehind is how many times in a row the log may lack what an entry is fenced on before that is damage. In a cluster
	// it may do so for maxElection too: a leader that was deposed and does not know it yet answers from its past.
	maxBehind = 10
	// maxUnheard is how many times in a row no server may answer before the log asks whether the stream is there.
	maxUnheard = 10
)

// confirm goes on with an append that its first attempt left open. Only an acknowledgement, a
// refusal by the fence or, if nothing can have been written, another refusal ends it; otherwise
// the same bytes are sent until the caller's context ends.
func (l *Log) confirm(r *request, a answer) {
	l.confirming.Add(1)
	go func() {
		defer l.confirming.Done()
		ctx, cancel := context.WithCancelCause(r.ctx)
		defer cancel(nil)
		stop := context.AfterFunc(l.ctx, func() { cancel(eventlog.ErrClosed) })
		defer stop()
		found, err := l.sendUntilKnown(ctx, r, a)
		if len(r.followers) > 0 && err == nil {
			l.confirmFollowers(ctx, r, found, a.verdict == lost)
			return
		}
		if err != nil {
			r.fail(err)
			return
		}
		r.succeed(found.seq, found.last > found.seq)
	}()
}

// confirmFollowers settles, in order, what follows an entry that is written. Each is written behind the one before it;
// or it is found there, left by a batch whose answer was lost; or it is refused, since another writer has written
// there. Whether another writer has gone on behind the group shows only at its last entry, so none is answered before.
func (l *Log) confirmFollowers(ctx context.Context, first *request, found finding, lostBatch bool) {
	settled, seqs := []*request{first}, []uint64{found.seq}
	var failed error
	for _, r := range first.followers {
		r.fenceOn(found.seq)
		r.uncertain = r.uncertain || lostBatch
		var err error
		if found, err = l.sendUntilKnown(ctx, r, answer{verdict: unsent}); err != nil {
			r.fail(err)
			failed = err
			break
		}
		settled, seqs = append(settled, r), append(seqs, found.seq)
	}
	overtaken := failed != nil || found.last > found.seq
	for i, r := range settled {
		r.succeed(seqs[i], overtaken)
	}
}

// sendUntilKnown sends the entry until it is known where it stands, if anywhere, and where the workflow's past
// ended when that was found.
func (l *Log) sendUntilKnown(ctx context.Context, r *request, a answer) (finding, error) {
	pause, behind, unheard := busyPause, failures{least: l.maxElection}, 0
	spaceless := failures{least: l.maxElection}
	for {
		switch a.verdict {
		case accepted:
			found := finding{seq: a.seq, last: a.seq}
			return found, l.pass(r, found.seq)
		case stale:
			found, err := l.lookUp(ctx, r)
			switch {
			case err == nil && found.seq != 0:
				return found, l.pass(r, found.seq)
			case err == nil && found.conflict:
				return finding{}, &eventlog.ConflictError{Workflow: r.entry.Workflow, Expected: r.entry.Expected}
			case err == nil && found.last < r.follows:
				// If it stays so, the log lacks the transition that this one follows. (A last
				// message that is the expected one is different: refused for a write that is in
				// process and not readable yet. Then only trying again can tell.)
				if behind.failed(); behind.over(maxBehind) {
					follows, err := l.followLost(ctx, r, found.last)
					if err != nil {
						break // it cannot be read now
					}
					if !follows {
						return finding{}, fmt.Errorf("%w: it follows sequence %d, the workflow's last message in stream %s is %d",
							eventlog.ErrDamaged, r.follows, l.names.stream(r.partition), found.last)
					}
					behind.reset()
				}
			case err == nil:
				behind.reset()
			}
		case unsent:
			a = l.resend(ctx, r)
			continue
		case busy:
		case full:
			// In a cluster a leader that has no space left says so and gives its role to a server that has: the entry waits
			// for that one.
			if spaceless.failed(); spaceless.over(1) {
				return finding{}, r.refuse(refusal(a))
			}
		case lost:
			r.uncertain = true
			if errors.Is(a.err, nats.ErrTimeout) || errors.Is(a.err, context.DeadlineExceeded) {
				if err := l.cfg.Healthy(); err != nil {
					// A server whose disk is full answers nothing any more; waiting will not help.
					return finding{}, fmt.Errorf("%w: %w: %w", eventlog.ErrUnconfirmed, eventlog.ErrFull, err)
				}
			}
			if errors.Is(a.err, nats.ErrConnectionClosed) {
				return finding{}, fmt.Errorf("%w: %w", eventlog.ErrUnconfirmed, a.err) // it will not come back
			}
			if errors.Is(a.err, nats.ErrNoResponders) {
				if unheard++; unheard >= maxUnheard {
					unheard = 0
					if _, err := l.info(ctx, l.names.stream(r.partition)); isStreamNotFound(err) {
						return finding{}, fmt.Errorf("%w: %w: stream %s is gone",
							eventlog.ErrUnconfirmed, eventlog.ErrDamaged, l.names.stream(r.partition))
					}
				}
			}
		default:
			return finding{}, r.refuse(refusal(a))
		}
		select {
		case <-ctx.Done():
			return finding{}, interrupted(ctx, r, a)
		case <-time.After(pause):
			pause = min(2*pause, retryPause)
		}
		a = l.resend(ctx, r)
	}
}

// pass acknowledges a written entry, behind the barrier if it asks for one.
func (l *Log) pass(r *request, seq uint64) error {
	l.acknowledged(r, seq)
	if r.entry.Barrier && l.cfg.EmbeddedSync {
		if err := l.mark.sync(); err != nil {
			return barrierError(err)
		}
	}
	return nil
}

func interrupted(ctx context.Context, r *request, a answer) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, eventlog.ErrClosed) {
		return r.refuse(cause)
	}
	if a.err != nil {
		return fmt.Errorf("%w: %w (last answer: %w)", eventlog.ErrUnconfirmed, cause, a.err)
	}
	return fmt.Errorf("%w: %w", eventlog.ErrUnconfirmed, cause)
}

func (l *Log) resend(ctx context.Context, r *request) answer {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.AckTimeout)
	defer cancel()
	l.counters.publishes.Add(1)
	m, err := l.nc.RequestMsgWithContext(ctx, r.message())
	if err != nil {
		return answer{verdict: lost, err: err}
	}
	if l.dropped(r.entry) {
		return answer{verdict: lost, err: nats.ErrTimeout}
	}
	return readAnswer(m)
}

func (l *Log) acknowledged(r *request, seq uint64) {
	l.mark.observe(r.partition, point{seq, r.entry.Hash()})
}

func (l *Log) dropped(e eventlog.Entry) bool {
	drop := l.dropAnswer.Load()
	return drop != nil && (*drop)(e)
}
