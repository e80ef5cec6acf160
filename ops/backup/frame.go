package backup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/pawl-run/pawl/eventlog"
)

// magic begins each file of a partition. Records follow: length, checksum and sequence, then the stored bytes.
const (
	magic       = "PAWLLOG1\n"
	frameHeader = 4 + 4 + 8
	// maxRecord is larger than the records of any log.
	maxRecord = 16 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendHeader(b []byte, r Stored) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(r.Bytes)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(r.Bytes, castagnoli))
	return binary.BigEndian.AppendUint64(b, r.Seq)
}

// readFrame reads the next record of a partition's file; io.EOF at its end.
func readFrame(in io.Reader) (Stored, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(in, header[:]); errors.Is(err, io.ErrUnexpectedEOF) {
		return Stored{}, fmt.Errorf("%w: a record is cut off", eventlog.ErrDamaged)
	} else if err != nil {
		return Stored{}, err
	}
	size := binary.BigEndian.Uint32(header[:])
	if size > maxRecord {
		return Stored{}, fmt.Errorf("%w: a record of %d bytes", eventlog.ErrDamaged, size)
	}
	r := Stored{Seq: binary.BigEndian.Uint64(header[8:]), Bytes: make([]byte, size)}
	if _, err := io.ReadFull(in, r.Bytes); err != nil {
		return Stored{}, fmt.Errorf("%w: a record is cut off: %w", eventlog.ErrDamaged, err)
	}
	if crc32.Checksum(r.Bytes, castagnoli) != binary.BigEndian.Uint32(header[4:]) {
		return Stored{}, fmt.Errorf("%w: the record of position %d has another checksum", eventlog.ErrDamaged, r.Seq)
	}
	return r, nil
}
