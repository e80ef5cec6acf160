package memlog

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/pawl-run/pawl/eventlog"
)

// DefaultMaxSize is the MaxSize of a zero Config: that of a JetStream log with enough payload.
const DefaultMaxSize = 4 << 20

// Fault is what a test makes happen to one append.
type Fault int

const (
	// None: the append goes on normally.
	None Fault = iota
	// Refuse: nothing is written, and the caller does not learn it (ErrUnconfirmed).
	Refuse
	// LostAck: the append is carried out, and the caller does not learn how it ended (ErrUnconfirmed).
	LostAck
	// Full: nothing is written, the store has no space (ErrFull).
	Full
)

// Config configures a Log. The zero value is a log of one partition without faults.
type Config struct {
	// Partitions is the number of partitions; 0 means 1.
	Partitions int
	// MaxSize is the largest stored transition in bytes; 0 means DefaultMaxSize.
	MaxSize int
	// Fault, if set, is asked once per Append, before it takes effect. It is called without a
	// lock held, so it may wait, and may use the Log.
	Fault func(eventlog.Entry) Fault
}

// Log is a log in memory.
type Log struct {
	cfg          Config
	installation string
	closing      chan struct{}

	mu         sync.Mutex
	closed     bool
	partitions []partition
	// unconfirmed holds the ids whose fate a caller was not told: a later refusal of the same entry
	// must not claim that nothing was written.
	unconfirmed map[eventlog.TransitionID]struct{}
}

type partition struct {
	messages   []message // sequence n is messages[n-1]
	workflows  map[eventlog.WorkflowName][]uint64
	changed    chan struct{} // closed and replaced at every append
	asides     []eventlog.Aside
	losses     int // how often a loss was accepted
	namesLost  bool
	unrecorded []eventlog.Missing // since the last acceptance was recorded
}

type message struct {
	workflow eventlog.WorkflowName
	stored   []byte
	lost     bool // nothing of it is there
}

var (
	_ eventlog.GroupLog  = (*Log)(nil)
	_ eventlog.StoredLog = (*Log)(nil)
)

// New returns an empty log.
func New(cfg Config) *Log {
	cfg.Partitions = max(cfg.Partitions, 1)
	if cfg.MaxSize <= 0 {
		cfg.MaxSize = DefaultMaxSize
	}
	l := &Log{
		cfg:          cfg,
		installation: rand.Text(),
		closing:      make(chan struct{}),
		partitions:   make([]partition, cfg.Partitions),
		unconfirmed:  make(map[eventlog.TransitionID]struct{}),
	}
	for i := range l.partitions {
		l.partitions[i] = partition{workflows: make(map[eventlog.WorkflowName][]uint64), changed: make(chan struct{})}
	}
	return l
}

// Partitions implements eventlog.Log.
func (l *Log) Partitions() int { return l.cfg.Partitions }

// PartitionOf implements eventlog.Log.
func (l *Log) PartitionOf(w eventlog.WorkflowName) int {
	return eventlog.PartitionOf(w, l.cfg.Partitions)
}

// MaxSize implements eventlog.Log.
func (l *Log) MaxSize() int { return l.cfg.MaxSize }

// Identity implements eventlog.Log.
func (l *Log) Identity(p int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := l.installation + "/" + strconv.Itoa(p)
	if n := l.partitions[p].losses; n > 0 {
		id += "/" + strconv.Itoa(n)
	}
	return id
}

// Append implements eventlog.Log.
func (l *Log) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	if err := e.Workflow.ValidateOwner(); err != nil {
		return eventlog.Written{}, fmt.Errorf("append: %w", err)
	}
	if len(e.Stored) > l.cfg.MaxSize {
		return eventlog.Written{}, fmt.Errorf("append %s revision %d of %d bytes, at most %d: %w",
			e.Workflow, e.Expected.Revision+1, len(e.Stored), l.cfg.MaxSize, eventlog.ErrTooLarge)
	}
	fault := None
	if l.cfg.Fault != nil {
		fault = l.cfg.Fault(e)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return eventlog.Written{}, l.refuse(e, eventlog.ErrClosed)
	}
	if err := context.Cause(ctx); err != nil {
		l.unconfirmed[e.ID] = struct{}{}
		return eventlog.Written{}, fmt.Errorf("append to %s: %w: %w", e.Workflow, eventlog.ErrUnconfirmed, err)
	}
	switch fault {
	case Refuse:
		l.unconfirmed[e.ID] = struct{}{}
		return eventlog.Written{}, fmt.Errorf("append to %s: request lost: %w", e.Workflow, eventlog.ErrUnconfirmed)
	case Full:
		return eventlog.Written{}, l.refuse(e, eventlog.ErrFull)
	}
	written, err := l.append(e)
	if fault == LostAck {
		l.unconfirmed[e.ID] = struct{}{}
		return eventlog.Written{}, fmt.Errorf("append to %s: acknowledgement lost: %w", e.Workflow, eventlog.ErrUnconfirmed)
	}
	delete(l.unconfirmed, e.ID)
	return written, err
}

// AppendGroup implements eventlog.GroupLog. A fault may hit each of the entries, so a group may be torn.
func (l *Log) AppendGroup(ctx context.Context, entries []eventlog.Entry) ([]eventlog.Written, error) {
	return eventlog.AppendInOrder(ctx, l, entries)
}

// MaxGroup implements eventlog.GroupLog.
func (l *Log) MaxGroup() int { return 32 }

// refuse reports a refusal of this attempt. If an earlier attempt may have been written, the
// refusal settles nothing.
func (l *Log) refuse(e eventlog.Entry, reason error) error {
	if _, ok := l.unconfirmed[e.ID]; ok {
		return fmt.Errorf("append to %s again: %w: %w", e.Workflow, eventlog.ErrUnconfirmed, reason)
	}
	return fmt.Errorf("append to %s: %w", e.Workflow, reason)
}

func (l *Log) append(e eventlog.Entry) (eventlog.Written, error) {
	p := &l.partitions[l.PartitionOf(e.Workflow)]
	seqs := p.workflows[e.Workflow]
	if len(p.asides) > 0 {
		seqs = slices.DeleteFunc(slices.Clone(seqs), func(seq uint64) bool { return p.aside(e.Workflow, seq) })
	}
	last := uint64(0)
	if len(seqs) > 0 {
		last = seqs[len(seqs)-1]
	}
	switch {
	case last == e.Expected.Seq:
		return eventlog.Written{Head: e.HeadAt(l.store(p, e.Workflow, e.Stored))}, nil
	case last < e.Expected.Seq:
		return eventlog.Written{}, fmt.Errorf("append to %s after sequence %d, its last one in the log is %d: %w",
			e.Workflow, e.Expected.Seq, last, eventlog.ErrDamaged)
	}
	// The same entry again: it is settled by what stands after the head it was decided on.
	for _, seq := range seqs {
		if seq > e.Expected.Seq && eventlog.HashOf(p.messages[seq-1].stored) == e.Hash() {
			return eventlog.Written{Head: e.HeadAt(seq), Overtaken: seq != last}, nil
		}
	}
	return eventlog.Written{}, &eventlog.ConflictError{Workflow: e.Workflow, Expected: e.Expected}
}

func (l *Log) store(p *partition, w eventlog.WorkflowName, stored []byte) uint64 {
	p.messages = append(p.messages, message{workflow: w, stored: append([]byte(nil), stored...)})
	seq := uint64(len(p.messages))
	p.workflows[w] = append(p.workflows[w], seq)
	close(p.changed)
	p.changed = make(chan struct{})
	return seq
}

// PutRaw stores bytes as the workflow's next message without any check: what a test reads back
// as a damaged or foreign record. It returns the message's position.
func (l *Log) PutRaw(w eventlog.WorkflowName, stored []byte) eventlog.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.PartitionOf(w)
	return eventlog.Position{Partition: p, Seq: l.store(&l.partitions[p], w, stored)}
}

// Last implements eventlog.Log.
func (l *Log) Last(_ context.Context, p int) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(p); err != nil {
		return 0, err
	}
	return uint64(len(l.partitions[p].messages)), nil
}

func (l *Log) usable(p int) error {
	if l.closed {
		return fmt.Errorf("read log: %w", eventlog.ErrClosed)
	}
	if p < 0 || p >= len(l.partitions) {
		return fmt.Errorf("read log: no partition %d, there are %d", p, len(l.partitions))
	}
	return nil
}

// Close implements eventlog.Log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.closing)
	}
	return nil
}

// aside reports whether the workflow's message at seq is set aside.
func (p *partition) aside(w eventlog.WorkflowName, seq uint64) bool {
	return slices.ContainsFunc(p.asides, func(a eventlog.Aside) bool {
		return (a.Workflow == "" || a.Workflow == w) && a.From <= seq && seq <= a.To
	})
}
