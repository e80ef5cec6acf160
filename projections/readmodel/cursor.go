package readmodel

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// ErrBadCursor: the cursor is not one that this list gave out.
var ErrBadCursor = errors.New("cursor does not belong to this list")

// cursorVersion is raised when the form of cursors changes.
const cursorVersion = 1

// writeCursor names the list and how far it was read. It holds places in the log, not in the
// store, so it outlives a rebuilt store.
func writeCursor(kind projections.EntityKind, o ListOptions, at store.Position) string {
	b := cursorHead(kind, o)
	for _, p := range slices.Sorted(maps.Keys(at)) {
		b = binary.AppendUvarint(b, uint64(p))
		b = binary.AppendUvarint(b, at[p].Seq)
		b = binary.AppendUvarint(b, uint64(at[p].N))
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func cursorHead(kind projections.EntityKind, o ListOptions) []byte {
	b := []byte{cursorVersion, byte(kind), 'a'}
	if o.Desc {
		b[2] = 'd'
	}
	return append(append(b, o.Workflow...), 0)
}

func readCursor(kind projections.EntityKind, o ListOptions) (store.Position, error) {
	at := store.Position{}
	if o.Cursor == "" {
		return at, nil
	}
	bad := func(why string) (store.Position, error) {
		return nil, fmt.Errorf("%w: %s; use the value of `next` with the same path and order", ErrBadCursor, why)
	}
	b, err := base64.RawURLEncoding.DecodeString(o.Cursor)
	if err != nil {
		return bad("it is malformed")
	}
	places, ours := bytes.CutPrefix(b, cursorHead(kind, o))
	if !ours {
		return bad("it comes from another list")
	}
	for rest := places; len(rest) > 0; {
		var n [3]uint64
		for i := range n {
			value, size := binary.Uvarint(rest)
			if size <= 0 {
				return bad("it is malformed")
			}
			n[i], rest = value, rest[size:]
		}
		if n[0] > 1<<31-1 || n[2] > 1<<32-1 {
			return bad("it is malformed")
		}
		at[int(n[0])] = projections.Ordinal{Seq: n[1], N: uint32(n[2])}
	}
	return at, nil
}
