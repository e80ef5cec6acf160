package feed

import (
	"context"
	"encoding/json"
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
