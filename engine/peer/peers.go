package peer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/eventlog"
)

// ErrNobody says that no engine has received the request.
var ErrNobody = errors.New("no engine answers for the partition")

// group keeps a request from reaching two engines, while one does not know yet that it is not the owner any more.
const group = "owner"

// subscribeTimeout bounds how long the server may take to know which engine answers.
const subscribeTimeout = 5 * time.Second

// Peers are the engines of an installation. Its methods are safe for concurrent use.
type Peers struct {
	nc     *nats.Conn
	prefix string
}

// New makes the peers of the installation whose subjects begin with prefix, pawl when empty. The connection stays the
// caller's. It must not keep what is sent while it is down (nats.ReconnectBufSize(-1)): a request that left later would
// reach the owner when its sender does not wait any more.
func New(nc *nats.Conn, prefix string) *Peers {
	if prefix == "" {
		prefix = "pawl"
	}
	return &Peers{nc: nc, prefix: prefix}
}

// subject is where requests for the owner of a partition go: for the one of an epoch, or with 0 for any.
func (p *Peers) subject(partition int, epoch uint64) string {
	of := p.prefix + ".own." + strconv.Itoa(partition)
	if epoch != 0 {
		of += "." + strconv.FormatUint(epoch, 10)
	}
	return of + ".record"
}

// Ask sends a request to the engine that answers for the partition since that epoch, and returns its answer. With epoch
// 0 any engine is asked that answers for it, also one that does not know yet that it is not the owner any more, or that
// stands still: servers see only minutes later that it says nothing. ErrNobody: none has received it;
// eventlog.ErrTooLarge: it cannot be sent. After any other error it may have been carried out.
func (p *Peers) Ask(ctx context.Context, partition int, epoch uint64, request []byte) ([]byte, error) {
	if !p.nc.IsConnected() {
		return nil, fmt.Errorf("ask for partition %d: %w: not connected", partition, ErrNobody)
	}
	if size, most := int64(len(request)), p.nc.MaxPayload(); size > most {
		return nil, fmt.Errorf("ask for partition %d: %w: the request has %d bytes, the server takes %d", partition,
			eventlog.ErrTooLarge, size, most)
	}
	m, err := p.nc.RequestWithContext(ctx, p.subject(partition, epoch), request)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("ask for partition %d: %w", partition, ErrNobody)
	}
	if err != nil {
		return nil, fmt.Errorf("ask for partition %d: %w", partition, err)
	}
	return m.Data, nil
}

// Answer has requests for the partition answered by the owner of this epoch, each in a goroutine of its own, until stop
// is called. What has arrived by then is answered too, unless ctx ends.
func (p *Peers) Answer(ctx context.Context, partition int, epoch uint64,
	answer func(ctx context.Context, request []byte) []byte) (stop func(), err error) {
	var subs []*nats.Subscription
	stop = func() {
		for _, sub := range subs {
			_ = sub.Drain() // where the connection is gone, nothing arrives
		}
	}
	for _, subject := range slices.Compact([]string{p.subject(partition, epoch), p.subject(partition, 0)}) {
		sub, subErr := p.nc.QueueSubscribe(subject, group, func(m *nats.Msg) {
			go func() { _ = m.Respond(answer(ctx, m.Data)) }() // a lost answer is the asker's to deal with
		})
		if err = subErr; err != nil {
			break
		}
		subs = append(subs, sub)
	}
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, subscribeTimeout)
		err = p.nc.FlushWithContext(limited)
		cancel()
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("answer for partition %d: %w", partition, err)
	}
	return stop, nil
}
