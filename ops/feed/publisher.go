package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/eventlog"
)

// rest is how long the feeder rests after a group. With it the feeder wakes a hundred times a second on a busy log, and
// not with each transition.
const rest = 10 * time.Millisecond

// headerFence is the sequence that the feed's last message must have.
const headerFence = "Nats-Expected-Last-Sequence"

// publisher publishes from one cursor on until something fails.
type publisher struct {
	*Feeder
	at      cursor
	inbox   string
	answers *nats.Subscription
	groups  uint64 // sent

	group  []*nats.Msg
	bytes  int
	oldest time.Time // when the first record of the group was observed; zero for records from the log
}

func newPublisher(f *Feeder, at cursor) (*publisher, error) {
	inbox := f.cfg.Conn.NewInbox() + "."
	answers, err := f.cfg.Conn.SubscribeSync(inbox + "*")
	if err != nil {
		return nil, fmt.Errorf("subscribe to acknowledgements: %w", err)
	}
	return &publisher{Feeder: f, at: at, inbox: inbox, answers: answers}, nil
}

func (p *publisher) close() { _ = p.answers.Unsubscribe() }

// follow publishes the records that the engine observes. It reads the log where a record is missing among them, or none
// has come for a while.
func (p *publisher) follow(ctx context.Context) error {
	timer := time.NewTimer(p.cfg.Idle)
	defer timer.Stop()
	var overtaken time.Time // since when a record is missing behind which others were observed; zero for none
	for {
		some, err := p.takeObserved(ctx)
		if err != nil {
			return err
		}
		wait, wake := p.cfg.Idle, p.backlog.added
		switch {
		case some:
			wait, wake, overtaken = rest, nil, time.Time{}
		case !p.missing():
			overtaken = time.Time{}
		case overtaken.IsZero():
			overtaken = time.Now()
			wait = p.cfg.MissingWait
		default:
			wait = p.cfg.MissingWait - time.Since(overtaken)
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
			continue
		case <-timer.C:
		}
		if some {
			continue
		}
		for partition := range p.at.done {
			if err := p.lookAt(ctx, partition); err != nil {
				return err
			}
		}
		overtaken = time.Time{}
	}
}

// takeObserved publishes the records in memory, and reports whether there were any.
func (p *publisher) takeObserved(ctx context.Context) (some bool, err error) {
	for partition := range p.at.done {
		for {
			o, ok := p.backlog.take(partition)
			if !ok {
				break
			}
			some = true
			if p.oldest.IsZero() {
				p.oldest = o.at
			}
			if err := p.add(ctx, &o.record); err != nil {
				return some, err
			}
		}
	}
	return some, p.flush(ctx)
}

// missing reports whether a record is missing behind which others were observed.
func (p *publisher) missing() bool {
	for partition := range p.at.done {
		if p.backlog.overtaken(partition) {
			return true
		}
	}
	return false
}

// lookAt reads the partition's log if it holds more than was observed.
func (p *publisher) lookAt(ctx context.Context, partition int) error {
	if p.backlog.holds(partition) {
		return nil
	}
	last, err := p.cfg.Log.Last(ctx, partition)
	if err != nil {
		return err
	}
	p.backlog.saw(partition, last)
	if !p.backlog.overtaken(partition) {
		return nil
	}
	return p.readLog(ctx, partition)
}

// readLog publishes what the partition's log holds, until it reaches a record that was observed.
func (p *publisher) readLog(ctx context.Context, partition int) error {
	last, err := p.cfg.Log.Last(ctx, partition)
	if err != nil {
		return err
	}
	var unread *problem // the part that cannot be read, until its end is known
	for r, err := range p.cfg.Log.Read(ctx, partition, p.backlog.upcoming(partition)) {
		broken := errors.Is(err, eventlog.ErrUnreadable) || errors.Is(err, eventlog.ErrDamaged)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (!broken || r.Position.Seq == 0):
			return err
		}
		if unread != nil {
			if err := p.announce(ctx, *unread, r.Position.Seq-1); err != nil {
				return err
			}
			p.backlog.pass(partition, r.Position.Seq-1)
			unread = nil
		}
		if err != nil {
			unread = &problem{r.Position, r.Workflow, err}
			continue
		}
		if err := p.add(ctx, &r); err != nil {
			return err
		}
		p.backlog.pass(partition, r.Position.Seq)
		if p.backlog.holds(partition) {
			return p.flush(ctx)
		}
		if len(p.group) == 0 { // everything that was read is sent; that of other partitions was sent before
			p.backlog.confirm()
		}
	}
	through := max(last, p.backlog.upcoming(partition)-1)
	if unread != nil {
		through = max(through, unread.at.Seq)
		if err := p.announce(ctx, *unread, through); err != nil {
			return err
		}
	}
	// The remaining sequences up to the end have no record: it was set aside or accepted as lost.
	p.backlog.pass(partition, through)
	return p.flush(ctx)
}

// problem is why the log cannot be read from a position on. Workflow is empty where it is not known.
type problem struct {
	at       eventlog.Position
	workflow eventlog.WorkflowName
	err      error
}

// announce adds the announcement that the log cannot be read from a position through a sequence.
func (p *publisher) announce(ctx context.Context, unread problem, through uint64) error {
	if unread.workflow == eventlog.Installation {
		return nil
	}
	p.at.done[unread.at.Partition] = through
	m, err := p.writer.notice(unread.at, unread.workflow, unread.err, renderPositions(p.at.done))
	if err != nil {
		return err
	}
	p.cfg.Logger.Warn("the feed goes on behind a part of the log that cannot be read", "position",
		unread.at.String(), "error", unread.err)
	return p.push(ctx, m)
}
