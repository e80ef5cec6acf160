package jslog

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	maxTransition = 4 << 20
	// headerRoom is what a message's headers may take of the server's max_payload: fence and batch.
	headerRoom = 1024
	// maxPartitions is far above what is of use: more is a typing error.
	maxPartitions = 1024
	// defaultAck and replicatedAck stand for a Config.AckTimeout of 0, with one replica and with several.
	defaultAck    = 2 * time.Second
	replicatedAck = 500 * time.Millisecond
)

// Config configures a Log. The zero value is a log of one partition on one server, without mark.
type Config struct {
	// Prefix of subjects and, in capitals, of stream names; empty means DefaultPrefix.
	Prefix string
	// Partitions is fixed when the log is created; 0 means what the log has, 1 for a new one.
	Partitions int
	// Replicas of a new log's streams; 0 means 1.
	Replicas int
	// Mark is the path of the high-water mark's file; empty for none. It belongs outside the
	// server's store, on a disk that survives with it. Its existence alone says that the log has
	// existed: a log whose mark is there is never created anew.
	Mark string
	// Unsynced says that the server syncs its writes only now and then. What is acknowledged may then
	// be lost with the power, so the mark is not raised, and a lost end is no damage but a warning.
	Unsynced bool
	// KeepMark leaves Unsynced as the mark has it, and makes no mark where there is none: the log is
	// opened to be looked at, and how the engine's server syncs is not known.
	KeepMark bool
	// LookOnly, with KeepMark, leaves the mark as it is: nothing is appended, and records beyond the mark may never
	// have been acknowledged.
	LookOnly bool
	// EmbeddedSync syncs the mark before a barrier entry is acknowledged, once per group.
	// Otherwise the mark is synced about once a second while there are appends.
	EmbeddedSync bool
	// MaxBatch is the most transitions in one atomic batch; 0 means 500, at most 1000.
	MaxBatch int
	// MaxBatchBytes is the most bytes in one atomic batch; 0 means 4 MiB.
	MaxBatchBytes int
	// BatchFrom is how many waiting transitions are sent as one batch at least: a batch has a fixed cost (files that the
	// server makes, syncs and removes), a single transition costs a sync. 0 means fromInFiles, or fromInMemory where Stage
	// makes the fixed cost small.
	BatchFrom int
	// Stage makes the server stage the batches of a stream at little cost; nil or an error: it does not.
	// It is asked again when the server cannot stage one.
	// The log takes each message for itself, so a batch of which the server has lost a part with the power
	// is no damage: it was not acknowledged.
	Stage func(stream string) error
	// BeforeUpdate is called right before each update of a stream's configuration, which is not made after an error;
	// updates are made one at a time. A server that may be killed in the middle of one keeps a copy with it. Nil: none.
	BeforeUpdate func(stream string) error
	// BeforeAccept is called with what has been found so far, right before each time that an acceptance of a loss
	// writes something down; after an error nothing is written. Nil: none.
	BeforeAccept func(Lost) error
	// Restoring opens a log that is being made from a backup, and no other; nil for one that exists or is new.
	Restoring *Restoring
	// Unserved is asked about a stream of the log that the server does not know. It answers why the server does not serve
	// what is in its store, nil if nothing is known of it, and whether an acceptance can bring the stream back. Where
	// Unserved is nil, nothing is known of any.
	Unserved func(stream string) (why error, acceptable bool)
	// HoldFormat is for a log that programs of several versions write: a new one gets the newest format at once, and an
	// older one keeps its format until [Log.RaiseFormat]. What needs a newer one is refused ([eventlog.ErrHeldFormat]).
	// Otherwise a log gets a format with the first message that needs it.
	HoldFormat bool
	// AckTimeout is how long an answer is waited for before the same bytes are sent again;
	// 0 means 2 s, and 0.5 s where the log has several replicas: a leader that gives up its role answers none of the
	// writes that it has in process.
	AckTimeout time.Duration
	// ReadTimeout is how long a read waits for a record that must be there before it asks the
	// leader what became of it; 0 means 5 s.
	ReadTimeout time.Duration
	// Healthy is asked when an answer fails to come: a server whose disk is full stops answering.
	// Nil means always healthy.
	Healthy func() error
	// Logger receives what an operator should know; nil discards it.
	Logger *slog.Logger
}

// Restoring says that a log is made from a backup. Until [Log.Restored] it opens for that alone.
type Restoring struct {
	// Installation is the name that the log gets where it does not exist yet.
	Installation string
	// Backup identifies the backup. A restore that was begun from one backup does not go on from another one.
	Backup string
}

func (c Config) withDefaults(nc *nats.Conn) (Config, error) {
	orDefault := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	orDefault(&c.Replicas, 1)
	orDefault(&c.MaxBatch, 500)
	orDefault(&c.MaxBatchBytes, 4<<20)
	if c.AckTimeout == 0 {
		c.AckTimeout = defaultAck
	}
	if c.ReadTimeout == 0 {
		c.ReadTimeout = 5 * time.Second
	}
	if c.Healthy == nil {
		c.Healthy = func() error { return nil }
	}
	if c.BeforeUpdate == nil {
		c.BeforeUpdate = func(string) error { return nil }
	}
	if c.BeforeAccept == nil {
		c.BeforeAccept = func(Lost) error { return nil }
	}
	if c.Unserved == nil {
		c.Unserved = func(string) (error, bool) { return nil, false }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case nc == nil:
		return c, errors.New("configure log: no NATS connection")
	case !prefixPattern.MatchString(c.Prefix):
		return c, fmt.Errorf("configure log: prefix %q must match %s", c.Prefix, prefixPattern)
	case c.Partitions < 0 || c.Partitions > maxPartitions:
		return c, fmt.Errorf("configure log: %d partitions, must be 1 to %d", c.Partitions, maxPartitions)
	case c.MaxBatch < 2 || c.MaxBatch > 1000:
		return c, fmt.Errorf("configure log: batches of %d, must be 2 to 1000", c.MaxBatch)
	case c.Replicas < 1 || c.MaxBatchBytes < 0 || c.BatchFrom < 0 || c.BatchFrom == 1 || c.AckTimeout < 0 ||
		c.ReadTimeout < 0:
		return c, errors.New("configure log: a number is negative or too small")
	case c.EmbeddedSync && (c.Mark == "" || c.Unsynced):
		return c, errors.New("configure log: EmbeddedSync needs a Mark, and a server that syncs every write")
	case nc.MaxPayload() <= headerRoom:
		return c, fmt.Errorf("configure log: the server takes messages of %d bytes only", nc.MaxPayload())
	}
	return c, nil
}

// compression is how a stream of so many replicas is compressed. With several it must not be: a server of a cluster
// that syncs every write cuts a stream off at its last snapshot when it starts, to take the rest from the log of the
// cluster once more. While nats-server 2.15.2 does that, it writes to a new block, and compresses the block before it
// in the background. By then that block is the last one again. Records that are acknowledged from then on are written
// behind the compressed part without compression. Nothing of the block can be read from the disk any more: at its next
// start the server has lost the block.
func compression(replicas int) jetstream.StoreCompression {
	if replicas > 1 {
		return jetstream.NoCompression
	}
	return jetstream.S2Compression
}
