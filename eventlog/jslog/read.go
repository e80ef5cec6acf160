package jslog

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

const (
	// readAhead is how many bytes of messages are asked for ahead of their reader: many small ones, and at
	// least two of the largest, or the consumer would stall.
	readAhead = 32 << 20
	// readQueue is how many messages more lie between the connection and the reader.
	readQueue = 32
	// readHeartbeat tells a consumer that the server is gone after twice this long.
	readHeartbeat = 5 * time.Second
	// fewRecords of one workflow are fetched one by one: a consumer costs more than they do.
	fewRecords = 16
	// endless is the end of a reading that has none.
	endless = math.MaxUint64
)

// Read implements eventlog.Log. Every sequence is accounted for: those whose loss was accepted and
// those that were set aside are passed over, any other that is missing yields one ErrDamaged per range, after which the
// reading goes on, as it does after a record that cannot be decoded. Every other error is the last.
func (l *Log) Read(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		last, err := l.Last(ctx, p)
		if err != nil {
			yield(eventlog.Record{}, err)
			return
		}
		l.newReader(p, from, "").run(ctx, last, yield)
	}
}

// ReadAll implements eventlog.LossKeeper.
func (l *Log) ReadAll(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		last, err := l.Last(ctx, p)
		if err != nil {
			yield(eventlog.Record{}, err)
			return
		}
		r := l.newReader(p, from, "")
		r.all = true
		r.run(ctx, last, yield)
	}
}

// ReadStored implements eventlog.StoredLog.
func (l *Log) ReadStored(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.StoredRecord, error] {
	return func(yield func(eventlog.StoredRecord, error) bool) {
		last, err := l.Last(ctx, p)
		if err != nil {
			yield(eventlog.StoredRecord{}, err)
			return
		}
		r := l.newReader(p, from, "")
		r.run(ctx, last, func(record eventlog.Record, err error) bool {
			return yield(eventlog.StoredRecord{Record: record, Stored: r.data}, err)
		})
	}
}

// Watch implements eventlog.Log.
func (l *Log) Watch(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		if err := l.usable(p); err != nil {
			yield(eventlog.Record{}, err)
			return
		}
		l.newReader(p, from, "").run(ctx, endless, yield)
	}
}

// ReadWorkflow implements eventlog.Log. Holes cannot be seen in sequences here; an
// [eventlog.Chain] sees them in revisions.
func (l *Log) ReadWorkflow(ctx context.Context, w eventlog.WorkflowName, from uint64) iter.Seq2[eventlog.Record,
	error] {
	return func(yield func(eventlog.Record, error) bool) {
		p := l.PartitionOf(w)
		if err := l.usable(p); err != nil {
			yield(eventlog.Record{}, err)
			return
		}
		if err := w.ValidateOwner(); err != nil {
			yield(eventlog.Record{}, fmt.Errorf("read log: %w", err))
			return
		}
		r := l.newReader(p, from, l.names.fence(p, w))
		end, err := l.fetchAgain(ctx, p, query{Last: r.filter})
		if isMessageNotFound(err) { // the last one may be there and damaged, with others before it
			end, err = l.lastReadable(ctx, p, r.filter)
		}
		if err == nil && end.Seq == 0 {
			return
		}
		if err != nil {
			yield(eventlog.Record{}, fmt.Errorf("read %s: %w", w, err))
			return
		}
		for range fewRecords {
			if r.next > end.Seq {
				return
			}
			m, err := l.fetchAgain(ctx, p, query{Seq: r.next, Next: r.filter})
			if err != nil {
				yield(eventlog.Record{}, fmt.Errorf("read %s: %w", w, err))
				return
			}
			r.next = m.Seq + 1
			if !r.deliver(m, yield) {
				return
			}
		}
		if r.next <= end.Seq {
			r.run(ctx, end.Seq, yield)
		}
	}
}

// lastReadable is the last message of a subject that can be read, the zero one when there is none. It asks for one
// after the other: the server knows a damaged one as the last.
func (l *Log) lastReadable(ctx context.Context, p int, subject string) (last stored, err error) {
	for {
		m, err := l.fetchAgain(ctx, p, query{Seq: last.Seq + 1, Next: subject})
		if isMessageNotFound(err) {
			return last, nil
		}
		if err != nil {
			return stored{}, err
		}
		last = m
	}
}

// reader is one pass over a partition or over one workflow in it.
type reader struct {
	log       *Log
	partition int
	filter    string // empty: all, and every sequence must appear
	next      uint64 // the sequence that comes next
	all       bool   // also what was set aside
	data      []byte // of the message that was delivered last
}

func (l *Log) newReader(p int, from uint64, filter string) *reader {
	return &reader{log: l, partition: p, filter: filter, next: max(from, 1)}
}

// run yields up to sequence last, or without end if last is endless.
func (r *reader) run(ctx context.Context, last uint64, yield func(eventlog.Record, error) bool) {
	// Records at the very end whose loss was accepted never come: the reading ends before them.
	for _, s := range r.log.partitions[r.partition].accepted {
		if s.from <= last && last <= s.to {
			last = s.from - 1
		}
	}
	for r.next <= last {
		if done := r.consume(ctx, last, yield); done {
			return
		}
	}
}

// consume reads with one consumer. False asks for another one, from r.next on.
func (r *reader) consume(ctx context.Context, last uint64, yield func(eventlog.Record, error) bool) bool {
	var f *feed
	err := r.log.retry(ctx, func() (err error) {
		f, err = r.open(ctx)
		return err
	})
	if err != nil {
		return r.fail(ctx, last, err, yield)
	}
	defer f.close()
	stall := time.NewTimer(r.log.cfg.ReadTimeout)
	defer stall.Stop()
	for r.next <= last {
		var m jetstream.Msg
		select {
		case m = <-f.messages:
		default:
			stall.Reset(r.log.cfg.ReadTimeout)
			select {
			case m = <-f.messages:
			case <-ctx.Done():
				// A watch ends with its context; a read that is cut short must not look complete.
				if last != endless {
					yield(eventlog.Record{}, fmt.Errorf("read log at %d:%d: %w", r.partition, r.next, context.Cause(ctx)))
				}
				return true
			case <-r.log.closing:
				yield(eventlog.Record{}, fmt.Errorf("read log: %w", eventlog.ErrClosed))
				return true
			case <-stall.C:
				again, done := r.investigate(ctx, last, yield)
				if done {
					return true
				}
				if again {
					return false
				}
				continue
			}
		}
		meta, err := m.Metadata()
		if err != nil {
			yield(eventlog.Record{}, fmt.Errorf("read log at %d:%d: %w", r.partition, r.next, err))
			return true
		}
		seq := meta.Sequence.Stream
		if seq < r.next {
			continue
		}
		if seq > last {
			// The message lies behind the end of this reading: what should have come before it is missing.
			r.fill(ctx, last+1, yield)
			return true
		}
		if !r.fill(ctx, seq, yield) {
			return true
		}
		r.next = seq + 1
		if !r.deliver(stored{m.Subject(), seq, m.Data()}, yield) {
			return true
		}
	}
	return true
}

// skip moves on to seq and reports what should have stood before it. False ends the reading.
func (r *reader) skip(seq uint64, yield func(eventlog.Record, error) bool) bool {
	if r.filter != "" || seq <= r.next {
		r.next = max(r.next, seq)
		return true
	}
	missing := spans{{r.next, seq - 1}}.without(r.log.partitions[r.partition].accepted)
	r.next = seq
	for _, s := range missing {
		at := eventlog.Record{Position: eventlog.Position{Partition: r.partition, Seq: s.from}}
		if !yield(at, fmt.Errorf("%w: stream %s lacks the messages %s",
			eventlog.ErrDamaged, r.log.names.stream(r.partition), s)) {
			return false
		}
	}
	return true
}

// investigate asks the leader why nothing comes: JetStream does not tell a consumer that what it
// waits for cannot be read. again asks for a new consumer, done ends the reading.
func (r *reader) investigate(ctx context.Context, last uint64, yield func(eventlog.Record, error) bool) (again,
	done bool) {
	end := last
	if end == endless {
		var err error
		if end, err = r.log.Last(ctx, r.partition); err != nil {
			return false, r.fail(ctx, last, err, yield)
		}
		if r.next > end {
			return false, false // nothing new
		}
	}
	m, err := r.probe(ctx, end)
	switch {
	case err != nil:
		return false, r.fail(ctx, last, err, yield)
	case m.Seq == 0:
		return true, !r.skip(end+1, yield)
	case !r.skip(m.Seq, yield):
		return false, true
	}
	r.next = m.Seq + 1
	return true, !r.deliver(m, yield)
}

// deliver yields a message, unless it was set aside. False ends the reading.
func (r *reader) deliver(m stored, yield func(eventlog.Record, error) bool) bool {
	if !r.all && r.log.partitions[r.partition].aside.hold(r.log.names.workflow(m.Subject), m.Seq) {
		return true
	}
	r.data = m.Data
	return yield(r.log.record(r.partition, m.Seq, m.Subject, m.Data))
}

// probe looks for the next message that can be read, up to end. It asks for one sequence after
// the other: a search for the next of a subject gives up at a damaged block.
func (r *reader) probe(ctx context.Context, end uint64) (stored, error) {
	for seq := r.next; seq <= end; seq++ {
		m, err := r.fetchOne(ctx, seq)
		switch {
		case isMessageNotFound(err):
		case err != nil:
			return stored{}, err
		case r.filter == "" || strings.HasPrefix(m.Subject, strings.TrimSuffix(r.filter, ">")):
			return m, nil
		}
	}
	return stored{}, nil
}

// fetchOne fetches a message. That a message is missing is checked again, unless its loss was accepted.
func (r *reader) fetchOne(ctx context.Context, seq uint64) (stored, error) {
	part := r.log.partitions[r.partition]
	if (spans{{seq, seq}}).without(part.accepted) == nil {
		return r.log.fetchAgain(ctx, r.partition, query{Seq: seq})
	}
	return r.log.fetchSurely(ctx, r.partition, query{Seq: seq}, &part.missing)
}

// fail reports a failure to ask. A watch outlives it: connections come back.
func (r *reader) fail(ctx context.Context, last uint64, err error, yield func(eventlog.Record, error) bool) bool {
	if last == endless && ctx.Err() != nil {
		return true
	}
	if last == endless && isTemporary(err) {
		return false
	}
	yield(eventlog.Record{}, fmt.Errorf("read log at %d:%d: %w", r.partition, r.next, err))
	return true
}

// record decodes a message; on an error it still says where it stands and whose it is.
func (l *Log) record(p int, seq uint64, subject string, data []byte) (eventlog.Record, error) {
	r := eventlog.Record{Position: eventlog.Position{Partition: p, Seq: seq}, Hash: eventlog.HashOf(data), Size: len(data)}
	workflow := l.names.workflow(subject)
	if workflow.ValidateOwner() != nil || l.PartitionOf(workflow) != p {
		return r, fmt.Errorf("%w: read %s: %w: on subject %s it belongs to no workflow of the partition",
			eventlog.ErrDamaged, r.Position, eventlog.ErrUnreadable, subject)
	}
	t, err := eventlog.Decode(data)
	if err == nil && !l.names.holds(subject, p, t.Workflow, t.Kind) {
		err = fmt.Errorf("%w: it stands on subject %s but says %s of %s", eventlog.ErrUnreadable, subject, t.Kind, t.Workflow)
	}
	if err != nil {
		r.Workflow = workflow
		return r, fmt.Errorf("read %s at %s: %w", workflow, r.Position, err)
	}
	r.Transition = t
	return r, nil
}

// feed is a running consumer.
type feed struct {
	messages chan jetstream.Msg
	quit     chan struct{}
	consumer jetstream.ConsumeContext
}

func (r *reader) open(ctx context.Context) (*feed, error) {
	subject := r.filter
	if subject == "" {
		subject = r.log.names.all(r.partition)
	}
	ctx, cancel := context.WithTimeout(ctx, r.log.cfg.ReadTimeout)
	defer cancel()
	consumer, err := r.log.js.OrderedConsumer(ctx, r.log.names.stream(r.partition), jetstream.OrderedConsumerConfig{
		FilterSubjects:    []string{subject},
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       r.next,
		InactiveThreshold: time.Minute,
	})
	if err != nil {
		return nil, fmt.Errorf("create consumer: %w", err)
	}
	f := &feed{messages: make(chan jetstream.Msg, readQueue), quit: make(chan struct{})}
	f.consumer, err = consumer.Consume(func(m jetstream.Msg) {
		select {
		case f.messages <- m:
		case <-f.quit:
		}
	}, jetstream.PullMaxBytes(readAhead), jetstream.PullHeartbeat(readHeartbeat))
	if err != nil {
		return nil, fmt.Errorf("start consumer: %w", err)
	}
	return f, nil
}

func (f *feed) close() {
	close(f.quit)
	f.consumer.Stop()
	<-f.consumer.Closed()
}
