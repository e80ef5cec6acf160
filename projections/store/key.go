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
	spaceMember     = 'P' // P partition name → empty: the workflows of a partition
	spaceCore       = 'W' // W name → Workflow
	spaceHandler    = 'H' // H name NUL handler → Handler
	// Every other entity stands at its place in the log, so that new rows are appended, lists
	// are scans and compactions cheap.
	spaceRow   = 'R' // R name NUL kind seq n → entity
	spaceID    = 'I' // I name NUL kind id → seq n
	spaceLive  = 'L' // L name NUL kind seq n → empty: rows that belong in memory, but pending events
	spaceOpen  = 'O' // O name NUL topic NUL seq n → empty: pending events, in memory while somebody subscribes
	spaceAll   = 'A' // A kind partition seq n → time name: order across workflows
	spaceOwner = 'M' // M mutation → name: mutations are addressed without their workflow
)

const placeSize = 8 + 4

func formatKey() []byte { return []byte{spaceFormat} }

func checkpointKey(partition int) []byte {
	return binary.BigEndian.AppendUint32([]byte{spaceCheckpoint}, uint32(partition))
}

func memberPrefix(partition int) []byte {
	return binary.BigEndian.AppendUint32([]byte{spaceMember}, uint32(partition))
}

func coreKey(w eventlog.WorkflowName) []byte { return append([]byte{spaceCore}, w...) }

// workflowPrefix starts all keys of the workflow in the space.
func workflowPrefix(space byte, w eventlog.WorkflowName) []byte {
	k := make([]byte, 0, len(w)+32)
	k = append(k, space)
	k = append(k, w...)
	return append(k, 0)
}

func kindPrefix(space byte, w eventlog.WorkflowName, kind projections.EntityKind) []byte {
	return append(workflowPrefix(space, w), byte(kind))
}

func handlerKey(w eventlog.WorkflowName, id string) []byte {
	return append(workflowPrefix(spaceHandler, w), id...)
}

func placeKey(space byte, w eventlog.WorkflowName, kind projections.EntityKind, o projections.Ordinal) []byte {
	return appendOrdinal(kindPrefix(space, w, kind), o)
}

// openPrefix starts the marks of the topic's pending events.
func openPrefix(w eventlog.WorkflowName, topic eventlog.Topic) []byte {
	return append(append(workflowPrefix(spaceOpen, w), topic...), 0)
}

func idKey(w eventlog.WorkflowName, k projections.Key) []byte {
	return append(kindPrefix(spaceID, w, k.Kind), k.ID...)
}

func allPrefix(kind projections.EntityKind) []byte { return []byte{spaceAll, byte(kind)} }

func allPartitionPrefix(kind projections.EntityKind, partition int) []byte {
	return binary.BigEndian.AppendUint32(allPrefix(kind), uint32(partition))
}

func ownerKey(id string) []byte { return append([]byte{spaceOwner}, id...) }

func appendOrdinal(k []byte, o projections.Ordinal) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(k, o.Seq), o.N)
}

func decodeOrdinal(b []byte) (projections.Ordinal, error) {
	if len(b) != placeSize {
		return projections.Ordinal{}, fmt.Errorf("%w: a place in the log has %d bytes", ErrDamaged, len(b))
	}
	return projections.Ordinal{Seq: binary.BigEndian.Uint64(b), N: binary.BigEndian.Uint32(b[8:])}, nil
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
