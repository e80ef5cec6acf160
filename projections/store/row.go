package store

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"sync"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/pack"
	"github.com/pawl-run/pawl/projections"
	"github.com/vmihailenco/msgpack/v5"
)

// Checkpoint says how far a partition's log is in the store: everything up to Seq is.
type Checkpoint struct {
	// Seq, Transition and Hash name the last message that is covered.
	Seq        uint64                `msgpack:"seq"`
	Transition eventlog.TransitionID `msgpack:"transition"`
	Hash       eventlog.Hash         `msgpack:"hash"`
	// Identity is that of the log's partition; on another log the checkpoint is worthless.
	Identity string `msgpack:"identity"`
}

// Stop says that a workflow's rows end before a record that could not be read or folded: the partition's
// checkpoint does not cover the workflow from there on.
type Stop struct {
	Workflow eventlog.WorkflowName `msgpack:"workflow"`
	// Seq is where that record stands, Reason what was wrong with it.
	Seq    uint64 `msgpack:"seq"`
	Reason string `msgpack:"reason"`
}

// layout is raised when keys or the meaning of rows change. The shapes of the rows need no
// number: see format.
const layout = 8

// format identifies what this version writes. It covers the shape of every entity, so that a
// field added, renamed or retyped makes an older store a foreign one instead of a subtly wrong
// one.
var format = sync.OnceValue(func() []byte {
	h := sha256.New()
	fmt.Fprintf(h, "pawl store %d\n", layout)
	for _, kind := range kinds {
		describe(h, reflect.TypeOf(projections.NewEntity(kind)).Elem(), map[reflect.Type]bool{})
	}
	describe(h, reflect.TypeFor[Checkpoint](), map[reflect.Type]bool{})
	describe(h, reflect.TypeFor[Stop](), map[reflect.Type]bool{})
	return h.Sum(nil)
})

// kinds are all kinds of entities that have rows.
var kinds = []projections.EntityKind{
	projections.KindWorkflow, projections.KindHandler, projections.KindRun, projections.KindEvent,
	projections.KindMutation, projections.KindInput, projections.KindSession, projections.KindScript,
}

func describe(w io.Writer, t reflect.Type, seen map[reflect.Type]bool) {
	fmt.Fprintf(w, "%s %s\n", t, t.Kind())
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Struct:
		for f := range t.Fields() {
			fmt.Fprintf(w, "%s %q\n", f.Name, f.Tag.Get("msgpack"))
			describe(w, f.Type, seen)
		}
	case reflect.Map:
		describe(w, t.Key(), seen)
		describe(w, t.Elem(), seen)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		describe(w, t.Elem(), seen)
	}
}

// encoder turns entities into rows, reusing its buffer: a row is valid until the next one. Structs
// are arrays: the names of fields would be half of a row, and format covers their order.
type encoder struct{ buf []byte }

// row returns the bytes of a value.
func (e *encoder) row(v any) ([]byte, error) {
	e.buf = e.buf[:0]
	return e.add(v)
}

// placed returns the row of an entity in the order across workflows; the entity may be nil.
func (e *encoder) placed(h head, entity any) ([]byte, error) {
	e.buf = h.append(e.buf[:0])
	if entity == nil {
		return e.buf, nil
	}
	return e.add(entity)
}

func (e *encoder) add(v any) ([]byte, error) {
	b, err := pack.Positional.Append(e.buf, v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	e.buf = b
	return b, nil
}

// head stands before the entity in a row: what a list across workflows must know of it.
type head struct {
	time     eventlog.Instant
	workflow eventlog.WorkflowName // at most 64 bytes
}

func (h head) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(h.time))
	return append(append(b, byte(len(h.workflow))), h.workflow...)
}

// decodeHead splits a row into its head and the entity.
func decodeHead(row []byte) (h head, entity []byte, err error) {
	const fixed = 8 + 1
	if len(row) < fixed || len(row) < fixed+int(row[fixed-1]) {
		return head{}, nil, fmt.Errorf("%w: a row of %d bytes has no head", ErrDamaged, len(row))
	}
	end := fixed + int(row[fixed-1])
	return head{eventlog.Instant(binary.BigEndian.Uint64(row)), eventlog.WorkflowName(row[fixed:end])}, row[end:], nil
}

// decodeOwn reads the entity of a row that must be the workflow's.
func decodeOwn(row []byte, w eventlog.WorkflowName, entity any) error {
	h, body, err := decodeHead(row)
	if err != nil {
		return err
	}
	if h.workflow != w {
		return fmt.Errorf("%w: a row of workflow %s stands where one of %s should", ErrDamaged, h.workflow, w)
	}
	return decode(body, entity)
}

// decode reads a row. Pebble has checked its bytes, so an error here means that something else
// wrote them.
func decode(row []byte, v any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: decode %T: %v", ErrDamaged, v, r)
		}
	}()
	if err := msgpack.Unmarshal(row, v); err != nil {
		return fmt.Errorf("%w: decode %T: %w", ErrDamaged, v, err)
	}
	return nil
}

// origin says where in the log an entity was created and at what time.
func origin(entity any) (projections.Ordinal, eventlog.Instant) {
	switch e := entity.(type) {
	case *projections.Workflow:
		return e.Created, 0
	case *projections.Handler:
		return e.Created, 0
	case *projections.Run:
		return e.Created, e.StartedAt
	case *projections.Mutation:
		return e.Created, e.RequestedAt
	case *projections.TopicEvent:
		return e.Created, e.CreatedAt
	case *projections.Input:
		return e.Created, e.At
	case *projections.Session:
		return e.Created, e.StartedAt
	case *projections.Script:
		return e.Created, e.DeployedAt
	}
	return projections.Ordinal{}, 0
}
