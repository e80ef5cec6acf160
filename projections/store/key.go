package store

import (
	"encoding/binary"
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// The key spaces. Workflow names hold no NUL, so `name NUL` ends a name unambiguously and no
// workflow's keys are a prefix of another's. Numbers are big endian: keys sort like them.
const (
	spaceFormat     = 'F' // F → format
	spaceCheckpoint = 'C' // C partition → Checkpoint
	spaceStop       = 'S' // S partition name → Stop
	spaceMember     = 'P' // P partition name → empty: the workflows of a partition
	spaceCore       = 'W' // W name → Workflow
	spaceHandler    = 'H' // H name NUL handler → Handler
	// Every other entity stands at its place in the log, those of all workflows together: new rows
	// are appended, so that compactions, which rewrite what lies between, find little to do. What
	// is sorted by workflow are entries of a few bytes.
	spaceRow  = 'R' // R kind partition seq n → head, entity; a Workflow's holds its head only
	spaceID   = 'I' // I name NUL kind id → partition seq n
	spaceOwn  = 'N' // N name NUL kind seq n → partition: a workflow's rows in order
	spaceLive = 'L' // L name NUL kind seq n → partition: rows that belong in memory, but pending events
	// O name NUL topic NUL seq n → partition, of a hidden or tried one also more: pending events, queued in memory
	// while a consumer subscribes
	spaceOpen  = 'O'
	spaceAside = 'A' // A name NUL kind seq n → partition: events that are discarded
	spaceOwner = 'M' // M mutation → name: mutations are addressed without their workflow
)

const (
	partitionSize = 4
	ordinalSize   = 8 + 4
)

// place is where a row stands.
type place struct {
	partition int
	projections.Ordinal
}

func formatKey() []byte { return []byte{spaceFormat} }

func checkpointKey(partition int) []byte { return appendPartition([]byte{spaceCheckpoint}, partition) }

func memberPrefix(partition int) []byte { return appendPartition([]byte{spaceMember}, partition) }

func stopPrefix(partition int) []byte { return appendPartition([]byte{spaceStop}, partition) }

func stopKey(partition int, w eventlog.WorkflowName) []byte {
	return append(stopPrefix(partition), w...)
}

func coreKey(w eventlog.WorkflowName) []byte { return append([]byte{spaceCore}, w...) }

func handlerKey(w eventlog.WorkflowName, id string) []byte {
	return append(appendWorkflow(nil, spaceHandler, w), id...)
}

func ownerKey(id string) []byte { return append([]byte{spaceOwner}, id...) }

// The functions that follow build on k, so that writing many keys needs one buffer.

// appendWorkflow starts all keys of the workflow in the space.
func appendWorkflow(k []byte, space byte, w eventlog.WorkflowName) []byte {
	return append(append(append(k, space), w...), 0)
}

func appendKind(k []byte, space byte, w eventlog.WorkflowName, kind projections.EntityKind) []byte {
	return append(appendWorkflow(k, space, w), byte(kind))
}

func appendID(k []byte, w eventlog.WorkflowName, key projections.Key) []byte {
	return append(appendKind(k, spaceID, w, key.Kind), key.ID...)
}

// appendOpen starts the marks of the topic's pending events.
func appendOpen(k []byte, w eventlog.WorkflowName, topic eventlog.Topic) []byte {
	return append(append(appendWorkflow(k, spaceOpen, w), topic...), 0)
}

// appendRows starts the rows of the kind in the partition.
func appendRows(k []byte, kind projections.EntityKind, partition int) []byte {
	return appendPartition(append(k, spaceRow, byte(kind)), partition)
}

func appendRow(k []byte, kind projections.EntityKind, at place) []byte {
	return appendOrdinal(appendRows(k, kind, at.partition), at.Ordinal)
}

func appendPlace(k []byte, at place) []byte {
	return appendOrdinal(appendPartition(k, at.partition), at.Ordinal)
}

func appendPartition(k []byte, partition int) []byte {
	return binary.BigEndian.AppendUint32(k, uint32(partition))
}

func appendOrdinal(k []byte, o projections.Ordinal) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(k, o.Seq), o.N)
}

func decodePartition(b []byte) (int, error) {
	if len(b) != partitionSize {
		return 0, fmt.Errorf("%w: a partition has %d bytes", ErrDamaged, len(b))
	}
	return int(binary.BigEndian.Uint32(b)), nil
}

func decodeOrdinal(b []byte) (projections.Ordinal, error) {
	if len(b) != ordinalSize {
		return projections.Ordinal{}, fmt.Errorf("%w: a place in the log has %d bytes", ErrDamaged, len(b))
	}
	return projections.Ordinal{Seq: binary.BigEndian.Uint64(b), N: binary.BigEndian.Uint32(b[8:])}, nil
}

func decodePlace(b []byte) (at place, err error) {
	if len(b) != partitionSize+ordinalSize {
		return place{}, fmt.Errorf("%w: the place of a row has %d bytes", ErrDamaged, len(b))
	}
	at.partition = int(binary.BigEndian.Uint32(b))
	at.Ordinal, err = decodeOrdinal(b[partitionSize:])
	return at, err
}

// waits is what memory must know of a pending event beside its place.
type waits struct {
	scheduledAt eventlog.Instant
	failedAt    uint64
	backsOff    bool
	id          eventlog.MessageID
}

// appendWaits adds it to the mark of a pending event: nothing for one that is neither hidden nor tried.
func appendWaits(v []byte, e *projections.TopicEvent) []byte {
	if e.ScheduledAt == 0 && e.FailedAt == 0 {
		return v
	}
	v = binary.BigEndian.AppendUint64(v, uint64(e.ScheduledAt))
	v = binary.BigEndian.AppendUint64(v, e.FailedAt)
	if e.BacksOff() {
		v = append(v, 1)
	} else {
		v = append(v, 0)
	}
	return append(v, e.MessageID...)
}

// decodeWaits reads what follows the partition in the mark of a pending event.
func decodeWaits(b []byte) (waits, error) {
	const failedAt, backsOff, fixed = 8, 8 + 8, 8 + 8 + 1
	switch {
	case len(b) == 0:
		return waits{}, nil
	case len(b) <= fixed:
		return waits{}, fmt.Errorf("%w: a waiting event's mark has %d bytes", ErrDamaged, len(b))
	}
	return waits{eventlog.Instant(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[failedAt:]), b[backsOff] != 0,
		eventlog.MessageID(b[fixed:])}, nil
}

// after returns the first key behind all that start with the prefix. Prefixes start with a
// space, so they are never all 0xff.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; ; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
}
