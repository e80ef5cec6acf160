package eventlog

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/pawl-run/pawl/eventlog/pack"
)

// wire is the stored envelope. Field names are part of the format.
type wire struct {
	ID       TransitionID `msgpack:"id"`
	Workflow WorkflowName `msgpack:"wf"`
	Revision uint64       `msgpack:"rev"`
	Prev     []byte       `msgpack:"prev"`
	At       Instant      `msgpack:"at"`
	Actor    Actor        `msgpack:"actor"`
	Cause    Cause        `msgpack:"cause"`
	Kind     FactType     `msgpack:"kind"`
	Facts    []wireFact   `msgpack:"facts"`
}

type wireFact struct {
	//lint:ignore U1000 read by msgpack through reflection
	_msgpack struct{} `msgpack:",as_array"`
	Type     FactType
	Version  int
	Data     msgpack.RawMessage
}

// upcasts hold, by type and version, what turns a stored body into one of the next version.
var upcasts = map[FactType]map[int]func([]byte) ([]byte, error){
	"workflow.deployed":            {1: unchanged, 2: unchanged, 3: unchanged, 4: unchanged},
	"workflow.backoff_started":     {1: unchanged},
	"run.started":                  {1: unchanged},
	"run.prepared":                 {1: unchanged},
	"event.released":               {1: unchanged},
	"event.retry_scheduled":        {1: unchanged, 2: unchanged},
	"mutation.reconcile_scheduled": {1: unchanged, 2: unchanged},
	"mutation.approval_requested":  {1: unchanged},
	"mutation.refused":             {1: unchanged},
	"mutation.started":             {1: unchanged},
	"mutation.given_up":            {1: unchanged},
}

// unchanged is the upcast to a version that only adds fields which may be left out.
func unchanged(body []byte) ([]byte, error) { return body, nil }

// scratch holds buffers to encode into: what is stored is then copied once, in its final size.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch bounds the buffers that are kept.
const maxScratch = 64 << 10

// maxEncoded is the size at which encoding is given up: far beyond what any log takes. Facts share what they hold (a
// payload that goes to many topics, the causes of many events), and each of them is written in full, so that their
// encoded size would have no bound otherwise.
const maxEncoded = 16 << 20

// Encode returns the transition's stored bytes. ErrTooLarge: no log would take it.
func Encode(t Transition) ([]byte, error) {
	buf := scratch.Get().(*[]byte)
	b, err := appendTransition((*buf)[:0], &t)
	if err != nil {
		return nil, err
	}
	stored := bytes.Clone(b)
	if cap(b) <= maxScratch {
		*buf = b
		scratch.Put(buf)
	}
	return stored, nil
}

// appendTransition writes a wire without making one.
func appendTransition(b []byte, t *Transition) ([]byte, error) {
	b = pack.AppendMap(b, 9)
	b = pack.AppendString(pack.AppendString(b, "id"), string(t.ID))
	b = pack.AppendString(pack.AppendString(b, "wf"), string(t.Workflow))
	b = pack.AppendUint64(pack.AppendString(b, "rev"), t.Revision)
	b = pack.AppendBytes(pack.AppendString(b, "prev"), t.Prev[:])
	b = pack.AppendInt64(pack.AppendString(b, "at"), int64(t.At))
	b, err := pack.Named.Append(pack.AppendString(b, "actor"), &t.Actor)
	if err != nil {
		return nil, fmt.Errorf("encode transition of %s: %w", t.Workflow, err)
	}
	if b, err = pack.Named.Append(pack.AppendString(b, "cause"), &t.Cause); err != nil {
		return nil, fmt.Errorf("encode transition of %s: %w", t.Workflow, err)
	}
	b = pack.AppendString(pack.AppendString(b, "kind"), string(t.Kind))
	b = pack.AppendArray(pack.AppendString(b, "facts"), len(t.Facts))
	for _, f := range t.Facts {
		if _, ok := facts[f.FactType()]; !ok {
			return nil, fmt.Errorf("encode transition of %s: fact type %q is not in the table", t.Workflow, f.FactType())
		}
		b = pack.AppendString(pack.AppendArray(b, 3), string(f.FactType()))
		if b, err = pack.Named.Append(pack.AppendInt(b, int64(versionOf(f))), f); err != nil {
			return nil, fmt.Errorf("encode %s of %s: %w", f.FactType(), t.Workflow, err)
		}
		if len(b) > maxEncoded {
			return nil, fmt.Errorf("%w: %s of %s would take more than %d bytes", ErrTooLarge, t.Kind, t.Workflow,
				maxEncoded)
		}
	}
	return b, nil
}

// Decode reads stored bytes strictly: an unknown type, a newer version, an unknown field or
// trailing bytes are errors that wrap ErrUnreadable.
func Decode(stored []byte) (Transition, error) {
	var w wire
	if err := strict(stored, &w); err != nil {
		return Transition{}, fmt.Errorf("%w: envelope: %w", ErrUnreadable, err)
	}
	t := Transition{ID: w.ID, Workflow: w.Workflow, Revision: w.Revision, At: w.At, Actor: w.Actor, Cause: w.Cause,
		Kind: PresentName(w.Kind), Facts: make([]Fact, len(w.Facts))}
	if len(w.Prev) != len(t.Prev) {
		return Transition{}, fmt.Errorf("%w: previous hash has %d bytes", ErrUnreadable, len(w.Prev))
	}
	copy(t.Prev[:], w.Prev)
	for i, f := range w.Facts {
		fact, err := decodeFact(f)
		if err != nil {
			return Transition{}, fmt.Errorf("%w: revision %d of %s: %w", ErrUnreadable, t.Revision, t.Workflow, err)
		}
		t.Facts[i] = fact
	}
	return t, nil
}

func decodeFact(f wireFact) (Fact, error) {
	f, err := f.present()
	if err != nil {
		return nil, err
	}
	entry, ok := facts[f.Type]
	if !ok {
		return nil, fmt.Errorf("unknown fact type %q; if a newer pawl wrote it, use that one", f.Type)
	}
	if f.Version > entry.version {
		return nil, fmt.Errorf("%s has version %d, this pawl reads up to %d; use the newer one that wrote it",
			f.Type, f.Version, entry.version)
	}
	body := []byte(f.Data)
	for v := f.Version; v < entry.version; v++ {
		up, ok := upcasts[f.Type][v]
		if !ok {
			return nil, fmt.Errorf("%s version %d cannot be read any more", f.Type, v)
		}
		if body, err = up(body); err != nil {
			return nil, fmt.Errorf("upcast %s from version %d: %w", f.Type, v, err)
		}
	}
	fact := entry.make()
	if err := strict(body, fact); err != nil {
		return nil, fmt.Errorf("decode %s: %w", f.Type, err)
	}
	return fact, nil
}

// Unpack decodes msgpack that may be malformed, such as a message from another engine, and ignores the fields that v
// does not have. Malformed bytes end in an error: it neither panics nor takes more memory than the bytes need.
func Unpack(b []byte, v any) (err error) {
	defer malformed(&err)
	if _, err := wellFormed(b, 0); err != nil {
		return err
	}
	return msgpack.Unmarshal(b, v)
}

// malformed is deferred: damaged bytes must end in an error, never in a panic.
func malformed(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("malformed: %v", r)
	}
}

func strict(b []byte, v any) (err error) {
	defer malformed(&err)
	if _, err := wellFormed(b, 0); err != nil {
		return err
	}
	r := bytes.NewReader(b)
	dec := msgpack.GetDecoder()
	dec.Reset(r)
	dec.DisallowUnknownFields(true)
	if err := dec.Decode(v); err != nil {
		return err // the decoder may be in any state, so it is not used again
	}
	msgpack.PutDecoder(dec)
	if r.Len() > 0 {
		return fmt.Errorf("%d trailing bytes", r.Len())
	}
	return nil
}

// present is the stored fact under its present name and version.
func (f wireFact) present() (wireFact, error) {
	r, ok := retired[f.Type]
	if !ok {
		return f, nil
	}
	if f.Version != r.version {
		return f, fmt.Errorf("%s has version %d, and only version %d of it was ever written", f.Type, f.Version, r.version)
	}
	return wireFact{Type: r.successor, Version: r.since, Data: f.Data}, nil
}
