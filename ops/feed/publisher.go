package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/eventlog"
)

// The bounds of a group: the messages that are sent before the feeder waits for an acknowledgement.
const (
	groupMessages = 512
	groupBytes    = 1 << 20
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

// add adds those facts of a record that are not published yet. If one cannot be encoded, an announcement takes its
// place and that of the facts behind it.
func (p *publisher) add(ctx context.Context, r *eventlog.Record) error {
	first := 1
	if p.at.facts > 0 && p.at.partial == r.Position {
		first = p.at.facts + 1
	}
	if r.Workflow == eventlog.Installation {
		return nil
	}
	p.at.done[r.Position.Partition] = r.Position.Seq
	positions := renderPositions(p.at.done)
	for n := first; n <= len(r.Facts); n++ {
		m, err := p.writer.message(r, n, positions)
		if err != nil {
			return p.announce(ctx, problem{r.Position, r.Workflow, err}, r.Position.Seq)
		}
		if err := p.push(ctx, m); err != nil {
			return err
		}
	}
	return nil
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

func (p *publisher) push(ctx context.Context, m *nats.Msg) error {
	p.group = append(p.group, m)
	p.bytes += len(m.Data) + headerRoom/8
	if len(p.group) < groupMessages && p.bytes < groupBytes {
		return nil
	}
	return p.send(ctx)
}

// flush sends the group; after that everything that was taken is published.
func (p *publisher) flush(ctx context.Context) error {
	if err := p.send(ctx); err != nil {
		return err
	}
	p.backlog.confirm()
	return nil
}

// send publishes the group and waits until its last message is acknowledged. Each message is fenced by the sequence of
// the one before it, so the last one is in the feed only if all are.
func (p *publisher) send(ctx context.Context) error {
	if len(p.group) == 0 {
		p.oldest = time.Time{}
		return nil
	}
	if err := p.cfg.DiskSpace(); err != nil {
		return err
	}
	p.groups++
	reply := p.inbox + strconv.FormatUint(p.groups, 36)
	for i, m := range p.group {
		m.Header[headerFence] = []string{strconv.FormatUint(p.at.sequence+uint64(i), 10)}
		if i == len(p.group)-1 {
			m.Reply = reply
		}
		if err := p.cfg.Publish(m); err != nil {
			return fmt.Errorf("publish to the feed: %w", err)
		}
	}
	last := p.at.sequence + uint64(len(p.group))
	if err := p.await(ctx, reply, last); err != nil {
		return err
	}
	p.at.sequence = last
	p.figures.took(len(p.group), p.oldest)
	p.published.Add(uint64(len(p.group)))
	clear(p.group)
	p.group, p.bytes, p.oldest = p.group[:0], 0, time.Time{}
	return nil
}

// await waits for the acknowledgement of the message with that reply subject, and checks its sequence.
func (p *publisher) await(ctx context.Context, reply string, sequence uint64) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.AckTimeout)
	defer cancel()
	m, err := p.answers.NextMsgWithContext(ctx)
	for err == nil && m.Subject != reply {
		m, err = p.answers.NextMsgWithContext(ctx)
	}
	if err != nil {
		return fmt.Errorf("await the feed's acknowledgement: %w", err)
	}
	if m.Header.Get("Status") == "503" {
		return fmt.Errorf("publish to the feed: %w", nats.ErrNoResponders)
	}
	var answer struct {
		Seq   uint64
		Error *struct {
			Code        int `json:"err_code"`
			Description string
		}
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return fmt.Errorf("read the feed's acknowledgement: %w", err)
	}
	switch {
	case answer.Error != nil:
		return fmt.Errorf("publish to the feed: %s (%d)", answer.Error.Description, answer.Error.Code)
	case answer.Seq != sequence:
		return fmt.Errorf("publish to the feed: acknowledged as message %d, not %d", answer.Seq, sequence)
	}
	return nil
}
