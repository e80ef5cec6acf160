package embeddednats

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash"
	"io"

	"github.com/klauspost/compress/s2"
)

// The layout is that of filestore.go in nats-server 2.15.2: length (4 bytes, the highest bit set with headers),
// sequence (8; the highest bit for an erased one, the next for a tombstone), time (8), length of the subject (2),
// subject, headers and message, checksum (8). It has been the same since 2.2.
const (
	recordHead     = 22
	recordSum      = 8
	smallestRecord = recordHead + recordSum
	largestRecord  = 32 << 20
	withHeaders    = 1 << 31
	erasedBit      = 1 << 63
	tombstoneBit   = 1 << 62
	largestBlock   = 1 << 30
)

// block is a stream's block that is being read; last is the sequence of the last message before the place.
type block struct {
	text []byte
	sum  hash.Hash
	last uint64
}

// damaged is a part of a block that is no record, with a good record behind it. Seq is the sequence of a message that
// is lost with it; 0 where none is known to be.
type damaged struct {
	from, to int
	seq      uint64
}

// damage finds the damaged parts.
func (b *block) damage() (all []damaged) {
	for at := 0; at < len(b.text); {
		if length, seq, ok := b.record(at); ok {
			b.pass(seq)
			at += length
			continue
		}
		next, ok := b.resume(at)
		if !ok {
			return all // a torn end
		}
		all = append(all, damaged{from: at, to: next, seq: b.lost(next)})
		at = next
	}
	return all
}

// pass notes a record's sequence, which only rises.
func (b *block) pass(seq uint64) {
	if seq&tombstoneBit == 0 {
		b.last = max(b.last, seq&^erasedBit)
	}
}

// resume finds the next good record. It computes a checksum only where the sequence is one that can follow.
func (b *block) resume(from int) (at int, ok bool) {
	most := b.last + uint64(len(b.text))
	for at = from + smallestRecord; at+smallestRecord <= len(b.text); at++ {
		claimed := binary.LittleEndian.Uint64(b.text[at+4:])
		number := claimed &^ (erasedBit | tombstoneBit)
		if b.last != 0 && (number > most || number <= b.last && claimed == number) {
			continue
		}
		if _, _, ok = b.record(at); ok {
			return at, true
		}
	}
	return 0, false
}

// lost is a sequence that is missing before the next message at the place or behind it; 0 where none is known to be
// missing. The mark must not name a message that is there: the server would pass over that message.
func (b *block) lost(at int) uint64 {
	for at < len(b.text) {
		length, seq, ok := b.record(at)
		switch {
		case !ok:
			return 0
		case seq&(erasedBit|tombstoneBit) != 0:
			at += length
		case b.last == 0, b.last+1 < seq:
			return seq - 1
		default:
			return 0
		}
	}
	return 0
}

// record reads the record at a place, and reports whether it is whole.
func (b *block) record(at int) (length int, seq uint64, ok bool) {
	if at+smallestRecord > len(b.text) {
		return 0, 0, false
	}
	head := b.text[at : at+recordHead]
	size, subject := binary.LittleEndian.Uint32(head), int(binary.LittleEndian.Uint16(head[20:]))
	headers := size&withHeaders != 0
	length = int(size &^ withHeaders)
	skip := subject
	if headers {
		skip += 4
	}
	if length < smallestRecord || length > largestRecord || at+length > len(b.text) || skip > length-smallestRecord {
		return 0, 0, false
	}
	body := b.text[at+recordHead : at+length-recordSum]
	b.sum.Reset()
	b.sum.Write(head[4:20])
	b.sum.Write(body[:subject])
	b.sum.Write(body[skip:])
	if !bytes.Equal(b.sum.Sum(nil), b.text[at+length-recordSum:at+length]) {
		return 0, 0, false
	}
	return length, binary.LittleEndian.Uint64(head[4:]), true
}

// erase makes one erased record of the damaged part.
func (d damaged) erase(text []byte, sum hash.Hash) {
	record := text[d.from:d.to]
	binary.LittleEndian.PutUint32(record, uint32(len(record)))
	binary.LittleEndian.PutUint64(record[4:], d.seq|erasedBit)
	binary.LittleEndian.PutUint64(record[12:], 0)
	binary.LittleEndian.PutUint16(record[20:], 0)
	sum.Reset()
	sum.Write(record[4:20])
	sum.Write(record[recordHead : len(record)-recordSum])
	copy(record[len(record)-recordSum:], sum.Sum(nil))
}

// expanded is a block's text. All blocks of a compressed stream but the last are compressed: "cmp", the kind of
// compression, the size as a varint, the compressed text, and the last checksum as it is. Checksums of the compression
// are not looked at: each record has one of its own.
func expanded(stored []byte) ([]byte, error) {
	size, n, compressed := blockSize(stored)
	if !compressed || len(stored) < 5+recordSum {
		return stored, nil
	}
	if n <= 0 || size > largestBlock {
		return nil, errors.New("its size cannot be read")
	}
	end := len(stored) - recordSum
	text, err := io.ReadAll(s2.NewReader(bytes.NewReader(stored[4+n:end]), s2.ReaderIgnoreCRC()))
	if err != nil {
		return nil, err
	}
	return append(text, stored[end:]...), nil
}

// compressedBlock begins a block that is compressed with S2, which has the number 1.
const compressedBlock = "cmp\x01"

// blockSize reads the size of a compressed block's text, and how many bytes the size itself takes: 0 where it cannot be
// read.
func blockSize(stored []byte) (size uint64, n int, compressed bool) {
	rest, compressed := bytes.CutPrefix(stored, []byte(compressedBlock))
	if compressed {
		size, n = binary.Uvarint(rest)
	}
	return size, n, compressed
}
