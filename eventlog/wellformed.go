package eventlog

import (
	"encoding/binary"
	"errors"
)

const maxNesting = 64

var errMalformed = errors.New("malformed msgpack")

// wellFormed walks over one msgpack value and returns what follows it. The decoder allocates
// what a length prefix asks for before it reads: four flipped bytes would end the process for
// lack of memory, which no recover survives. Here every element must take at least one byte.
func wellFormed(b []byte, depth int) ([]byte, error) {
	if len(b) == 0 || depth > maxNesting {
		return nil, errMalformed
	}
	c, b := b[0], b[1:]
	size := func(width int) (n uint64, ok bool) {
		if len(b) < width {
			return 0, false
		}
		switch width {
		case 1:
			n = uint64(b[0])
		case 2:
			n = uint64(binary.BigEndian.Uint16(b))
		case 4:
			n = uint64(binary.BigEndian.Uint32(b))
		}
		b = b[width:]
		return n, true
	}
	var skip, elements uint64
	ok := true
	switch {
	case c <= 0x7f || c >= 0xe0 || c == 0xc0 || c == 0xc2 || c == 0xc3: // numbers, nil, booleans
	case c <= 0x8f:
		elements = 2 * uint64(c&0x0f)
	case c <= 0x9f:
		elements = uint64(c & 0x0f)
	case c <= 0xbf:
		skip = uint64(c & 0x1f)
	case c == 0xc4 || c == 0xd9:
		skip, ok = size(1)
	case c == 0xc5 || c == 0xda:
		skip, ok = size(2)
	case c == 0xc6 || c == 0xdb:
		skip, ok = size(4)
	case c == 0xcc || c == 0xd0:
		skip = 1
	case c == 0xcd || c == 0xd1:
		skip = 2
	case c == 0xce || c == 0xd2 || c == 0xca:
		skip = 4
	case c == 0xcf || c == 0xd3 || c == 0xcb:
		skip = 8
	case c == 0xdc:
		elements, ok = size(2)
	case c == 0xdd:
		elements, ok = size(4)
	case c == 0xde:
		elements, ok = size(2)
		elements *= 2
	case c == 0xdf:
		elements, ok = size(4)
		elements *= 2
	default: // extensions are never written
		ok = false
	}
	if !ok || skip > uint64(len(b)) || elements > uint64(len(b)) {
		return nil, errMalformed
	}
	b = b[skip:]
	var err error
	for range elements {
		if b, err = wellFormed(b, depth+1); err != nil {
			return nil, err
		}
	}
	return b, nil
}
