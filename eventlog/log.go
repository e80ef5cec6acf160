package eventlog

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
)

// Entry is one encoded transition with the head it was decided on. It is built once per
// decision; a resend passes the same Entry, byte by byte.
type Entry struct {
	ID       TransitionID
	Workflow WorkflowName
	Kind     FactType
	Expected Head
	Stored   []byte
	// Format is the lowest format of a log that may hold it: see FormatVersion. Zero asks for none.
	Format int
	// Barrier asks that nothing acknowledged up to and including this entry can be lost
	// unnoticed: a request leaves right after it.
	Barrier bool
	hash    Hash
}

// NewEntry encodes the transition for the head it was decided on. It sets the revision and the
// previous hash. It fails where Encode does.
func NewEntry(t Transition, head Head) (Entry, error) {
	t.Revision = head.Revision + 1
	t.Prev = head.Hash
	stored, err := Encode(t)
	if err != nil {
		return Entry{}, err
	}
	return Entry{ID: t.ID, Workflow: t.Workflow, Kind: t.Kind, Expected: head, Stored: stored, Format: formatOf(&t),
		hash: HashOf(stored)}, nil
}

// StoredEntry is the Entry of a transition that was stored in another log, byte by byte. It fails for bytes that cannot
// be read, and for a transition that does not follow the head.
func StoredEntry(stored []byte, head Head) (Entry, error) {
	t, err := Decode(stored)
	if err != nil {
		return Entry{}, err
	}
	if t.Revision != head.Revision+1 || t.Prev != head.Hash {
		return Entry{}, fmt.Errorf("%w: revision %d of %s does not follow revision %d with hash %s", ErrDamaged, t.Revision,
			t.Workflow, head.Revision, head.Hash)
	}
	return Entry{ID: t.ID, Workflow: t.Workflow, Kind: t.Kind, Expected: head, Stored: stored, Format: formatOf(&t),
		hash: HashOf(stored)}, nil
}

// Hash returns the hash of the stored bytes.
func (e Entry) Hash() Hash { return e.hash }

// HeadAt returns the workflow's head if the entry was written at seq.
func (e Entry) HeadAt(seq uint64) Head {
	return Head{Revision: e.Expected.Revision + 1, Seq: seq, Hash: e.hash}
}

// Written is the answer to an append: where the entry stands.
type Written struct {
	// Head is the workflow's head with the entry as its last one.
	Head
	// Overtaken is true when others had written to the workflow after the entry before it was known to
	// be written, as after an acknowledgement that was lost. What follows from the entry may not hold any
	// more: a request may not leave (F6), and the workflow must be read on from Head.
	Overtaken bool
}

// Log is an append-only log of transitions, in partitions. Implementations are safe for
// concurrent use.
type Log interface {
	// Partitions is fixed when the log is created.
	Partitions() int
	// PartitionOf says where a workflow lives.
	PartitionOf(WorkflowName) int
	// MaxSize is the largest stored transition in bytes.
	MaxSize() int
	// Append writes the entry and says where it stands once it is durable. A lost acknowledgement may be
	// resolved by the log itself, or by appending the same entry again: either way the answer tells
	// whether the entry was still the workflow's last one then. Errors:
	// ErrConflict, ErrTooLarge, ErrFull, ErrClosed (nothing written), ErrUnconfirmed (not known:
	// append the same entry again). When ctx ends first the answer is ErrUnconfirmed.
	Append(ctx context.Context, e Entry) (Written, error)
	// Last returns the sequence of the partition's last message, 0 when empty. ErrNewerFormat: the partition may hold what
	// this version does not read, by now. A program that writes to a shared log says so before the first such message, so
	// without this error nothing up to the sequence is newer.
	Last(ctx context.Context, partition int) (uint64, error)
	// Read yields the partition's records from the sequence `from` (1 or more) up to the end at the time of the call. A
	// hole, a record that cannot be read (ErrUnreadable) or a failure is yielded as an error; a record that cannot be
	// decoded is yielded with its Position and, where the envelope's address is known, its Workflow.
	Read(ctx context.Context, partition int, from uint64) iter.Seq2[Record, error]
	// ReadWorkflow is Read for one workflow.
	ReadWorkflow(ctx context.Context, w WorkflowName, from uint64) iter.Seq2[Record, error]
	// Watch is Read that goes on with new records until ctx ends.
	Watch(ctx context.Context, partition int, from uint64) iter.Seq2[Record, error]
	// Identity names this log's partition: a checkpoint taken on another one is worthless.
	Identity(partition int) string
	// Close ends all calls with ErrClosed.
	Close() error
}

// PlaceChecker is a Log that can be asked whether a record still stands at its place.
type PlaceChecker interface {
	Log
	// CheckPlace reports whether the record with this hash stands at the sequence, as the partition's leader has it:
	// nil where it does, ErrDamaged where it does not, any other error where the leader could not be asked.
	CheckPlace(ctx context.Context, partition int, seq uint64, hash Hash) error
}

// FormatHolder is a Log that programs of several versions write to, so that it does not take every format yet.
type FormatHolder interface {
	Log
	// Admits reports whether the partition takes what needs the format: nil where it does, ErrHeldFormat where it does
	// not, any other error where the leader could not be asked. Once the partition takes a format, each program that
	// runs on the log reads that format.
	Admits(ctx context.Context, partition, format int) error
}

// GroupLog is a Log that writes several entries of one workflow at once.
type GroupLog interface {
	Log
	// AppendGroup writes entries of one workflow. Each is decided on the head that the one before leaves. The sequence
	// in that head is not known yet and not looked at; only that of the first entry's head is. It answers once their
	// fate is known: with all of them, or with the first ones that are written and, of the next one, one of Append's
	// errors. After ErrUnconfirmed the same rest is appended again, on the head of the last one that is written;
	// nothing else is known of the rest. After any other error nothing of the rest is written.
	AppendGroup(ctx context.Context, entries []Entry) ([]Written, error)
	// MaxGroup is how many entries are written together at most; 1 where each would be written by itself.
	MaxGroup() int
}

// AppendInOrder is AppendGroup on any Log: each entry is written by itself, once the one before is.
// The first error of Append ends it, and is returned with what is written by then.
func AppendInOrder(ctx context.Context, l Log, entries []Entry) ([]Written, error) {
	written := make([]Written, 0, len(entries))
	for i, e := range entries {
		if i > 0 {
			e.Expected.Seq = written[i-1].Seq
		}
		w, err := l.Append(ctx, e)
		if err != nil {
			return written, err
		}
		written = append(written, w)
	}
	return written, nil
}

// StoredLog is a Log whose stored bytes can be read, so that a copy of it can be made.
type StoredLog interface {
	Log
	// ReadStored is Read that yields the stored bytes too.
	ReadStored(ctx context.Context, partition int, from uint64) iter.Seq2[StoredRecord, error]
}

// StoredRecord is a record with the bytes that its Hash is of.
type StoredRecord struct {
	Record
	Stored []byte
}

// Aside is a part of a partition that is there and counts no more: a workflow's records from the first one that cannot
// be followed on, or a message that is no transition at all.
type Aside struct {
	// Workflow names the workflow whose messages of the range are meant; empty: those of all.
	Workflow WorkflowName
	From, To uint64 // sequences, both included
}

// Missing is a range of sequences that a partition lacks, both included.
type Missing struct{ From, To uint64 }

// LossKeeper is a Log that remembers what was accepted as lost. No engine may run on it meanwhile.
type LossKeeper interface {
	Log
	// SameLog reports whether an Identity is the partition's, or was before a loss was accepted.
	SameLog(identity string, partition int) bool
	// Unrecorded lists the missing ranges of the partition whose loss was accepted since the last Recorded: the
	// workflows concerned may have no record of it yet.
	Unrecorded(partition int) []Missing
	// Recorded says that each workflow that is known to be concerned by a loss has its record. With namesLost there may
	// have been other workflows of which nothing is left, not even their names: from then on NamesLost reports true.
	Recorded(ctx context.Context, partition int, namesLost bool) error
	// NamesLost reports whether workflows of the partition may have been lost with all their records. A name
	// that the log does not know may be one of them.
	NamesLost(partition int) bool
	// ConfirmNames ends NamesLost: a person knows each name that there was.
	ConfirmNames(ctx context.Context, partition int) error
	// ReadAll is Read that also yields what was set aside.
	ReadAll(ctx context.Context, partition int, from uint64) iter.Seq2[Record, error]
	// Asides returns what was set aside.
	Asides(partition int) []Aside
	// SetAside makes readers pass over these messages, and lets appends follow what stands before them. The partition
	// then has another Identity, even where there are no such messages. ErrTooLarge: the log cannot remember all of
	// them. It remembers the first n and returns n.
	SetAside(ctx context.Context, partition int, more []Aside) (int, error)
}

// PartitionOf says in which of a log's partitions a workflow lives: the first eight bytes (big
// endian) of the SHA-256 of its name, modulo the number of partitions. It is part of the stored
// format and fixed forever: another function would look for a workflow's past in the wrong place.
func PartitionOf(name WorkflowName, partitions int) int {
	if partitions <= 1 {
		return 0
	}
	sum := sha256.Sum256([]byte(name))
	return int(binary.BigEndian.Uint64(sum[:8]) % uint64(partitions))
}
