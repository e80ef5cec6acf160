package jslog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// Log is a log in JetStream. Open returns one.
type Log struct {
	nc           *nats.Conn
	js           jetstream.JetStream
	cfg          Config
	names        names
	maxSize      int
	installation string
	partitions   []*partition
	mark         *mark
	counters     counters
	warnings     []string
	session      string // random: the batch ids of two engines must differ
	grouping     bool   // entries of one workflow are written together: each partition takes batches, and has one replica
	// maxElection is how long a cluster may be without a leader, or answer by one that was deposed; it is 0 with one
	// server.
	maxElection time.Duration
	accepting   *Lost // what AcceptLoss has found; nil for a log that must be whole

	closing    chan struct{}
	ctx        context.Context // ends when closing begins
	cancel     context.CancelFunc
	confirming sync.WaitGroup

	mu          sync.Mutex
	closed      bool
	unconfirmed map[eventlog.WorkflowName]eventlog.TransitionID

	// dropAnswer makes tests lose answers to the publish of an entry.
	dropAnswer atomic.Pointer[func(eventlog.Entry) bool]
}

type partition struct {
	identity string
	losses
	committer *committer
	format    format
	missing   absences
}

var (
	_ eventlog.LossKeeper   = (*Log)(nil)
	_ eventlog.GroupLog     = (*Log)(nil)
	_ eventlog.PlaceChecker = (*Log)(nil)
)

// format is the format that a partition's stream is known to say, 0 while that was not asked. lower counts the answers
// since then that named an older one.
type format struct {
	raising sync.Mutex
	known   int
	lower   failures
}

// accept reports whether damage that prepare met is among what is being accepted.
func (l *Log) accept(err error) bool {
	if l.accepting == nil || !errors.Is(err, eventlog.ErrDamaged) {
		return false
	}
	l.accepting.end("%v", err)
	return true
}

func (l *Log) usable(p int) error {
	select {
	case <-l.closing:
		return fmt.Errorf("read log: %w", eventlog.ErrClosed)
	default:
	}
	if p < 0 || p >= len(l.partitions) {
		return fmt.Errorf("read log: no partition %d, there are %d", p, len(l.partitions))
	}
	return nil
}

func (l *Log) warn(text string) {
	l.warnings = append(l.warnings, text)
	l.cfg.Logger.Warn(text)
}

// Warnings returns what Open found and accepted, for the operator.
func (l *Log) Warnings() []string { return append([]string(nil), l.warnings...) }

// Installation is the random id that the log was created with.
func (l *Log) Installation() string { return l.installation }

// Partitions implements eventlog.Log.
func (l *Log) Partitions() int { return len(l.partitions) }

// PartitionOf implements eventlog.Log.
func (l *Log) PartitionOf(w eventlog.WorkflowName) int {
	return eventlog.PartitionOf(w, len(l.partitions))
}

// MaxSize implements eventlog.Log.
func (l *Log) MaxSize() int { return l.maxSize }

// Identity implements eventlog.Log. It changes when a loss is accepted: sequences may then have
// been used twice.
func (l *Log) Identity(p int) string { return l.partitions[p].identity }

func identity(installation string, p int, epoch string) string {
	id := installation + "/" + strconv.Itoa(p)
	if epoch != "" {
		id += "/" + epoch
	}
	return id
}

type counters struct{ publishes, batches, batched, marks atomic.Uint64 }

// Stats counts what a Log has done since it was opened.
type Stats struct {
	// Publishes is the number of messages sent one by one, repetitions included.
	Publishes uint64
	// Batches and BatchedMessages count what was sent in atomic batches.
	Batches, BatchedMessages uint64
	// MarkSyncs is how often the mark was synced.
	MarkSyncs uint64
}

// Stats returns the counters.
func (l *Log) Stats() Stats {
	return Stats{
		Publishes:       l.counters.publishes.Load(),
		Batches:         l.counters.batches.Load(),
		BatchedMessages: l.counters.batched.Load(),
		MarkSyncs:       l.counters.marks.Load(),
	}
}

func (l *Log) markFailed(err error) {
	l.cfg.Logger.Error("the log's high-water mark could not be written; free space or replace the disk of "+l.cfg.Mark,
		slog.Any("error", err))
}

// absences says until when the answer that a message is missing is believed at once: for some time after a message was
// found to stay missing.
type absences struct{ until atomic.Int64 } // in nanoseconds of the Unix epoch

// failures counts failures in a row, and knows when they began.
type failures struct {
	least time.Duration
	tries int
	since time.Time
}

func (p *failures) failed() {
	if p.tries++; p.tries == 1 {
		p.since = time.Now()
	}
}

// over reports whether there were that many failures in a row, over the least time or longer.
func (p *failures) over(tries int) bool { return p.tries >= tries && time.Since(p.since) >= p.least }

func (p *failures) reset() { p.tries = 0 }
