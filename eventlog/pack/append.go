package pack

import (
	"encoding/binary"
	"math"
)

// The codes of the msgpack format that are written here.
const (
	codeNil    = 0xc0
	codeFalse  = 0xc2
	codeTrue   = 0xc3
	codeBin    = 0xc4 // with 1, 2 or 4 bytes of length: + 0, 1, 2
	codeUint   = 0xcc // of 1, 2, 4 or 8 bytes: + 0, 1, 2, 3
	codeInt    = 0xd0 // the same
	codeStr    = 0xd9 // with 1, 2 or 4 bytes of length: + 0, 1, 2
	codeArray  = 0xdc // with 2 or 4 bytes of length: + 0, 1
	codeMap    = 0xde // the same
	fixedMap   = 0x80
	fixedArray = 0x90
	fixedStr   = 0xa0
)

// AppendString appends a string.
func AppendString(b []byte, s string) []byte {
	if len(s) < 32 {
		b = append(b, fixedStr|byte(len(s)))
	} else {
		b = appendSize(b, codeStr, len(s))
	}
	return append(b, s...)
}

// AppendBytes appends binary data, nil as nil.
func AppendBytes(b, data []byte) []byte {
	if data == nil {
		return append(b, codeNil)
	}
	return append(appendSize(b, codeBin, len(data)), data...)
}

// AppendBool appends a boolean.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, codeTrue)
	}
	return append(b, codeFalse)
}

// AppendInt appends a number in as few bytes as it needs.
func AppendInt(b []byte, n int64) []byte {
	switch {
	case n >= 0:
		return AppendUint(b, uint64(n))
	case n >= -32:
		return append(b, byte(n))
	case n >= math.MinInt8:
		return append(b, codeInt, byte(n))
	case n >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(b, codeInt+1), uint16(n))
	case n >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(b, codeInt+2), uint32(n))
	}
	return AppendInt64(b, n)
}

// AppendUint appends a number in as few bytes as it needs.
func AppendUint(b []byte, n uint64) []byte {
	switch {
	case n <= math.MaxInt8:
		return append(b, byte(n))
	case n <= math.MaxUint8:
		return append(b, codeUint, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, codeUint+1), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, codeUint+2), uint32(n))
	}
	return AppendUint64(b, n)
}

// AppendInt64 appends a number in nine bytes.
func AppendInt64(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(append(b, codeInt+3), uint64(n))
}

// AppendUint64 appends a number in nine bytes.
func AppendUint64(b []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, codeUint+3), n)
}

// AppendArray starts an array: n values follow.
func AppendArray(b []byte, n int) []byte {
	if n < 16 {
		return append(b, fixedArray|byte(n))
	}
	return appendLong(b, codeArray, n)
}

// AppendMap starts a map: n keys follow, each with its value.
func AppendMap(b []byte, n int) []byte {
	if n < 16 {
		return append(b, fixedMap|byte(n))
	}
	return appendLong(b, codeMap, n)
}

func appendSize(b []byte, code byte, n int) []byte {
	if n <= math.MaxUint8 {
		return append(b, code, byte(n))
	}
	return appendLong(b, code+1, n)
}

func appendLong(b []byte, code byte, n int) []byte {
	if n <= math.MaxUint16 {
		return binary.BigEndian.AppendUint16(append(b, code), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(b, code+1), uint32(n))
}
