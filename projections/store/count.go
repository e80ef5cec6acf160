package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
)

// Each commit adds one to a counter and writes its own number. Pebble checks what its files hold, but not that each
// file of its write-ahead log is there and whole to its end. Where one in the middle is lost, the rows of its commits
// are missing although the checkpoint, which every commit writes, covers them: then the counter is below the number.
const spaceCount = 'A' // A → the counter of commits; A 1 → the number of the last one

func countKey() []byte { return []byte{spaceCount} }

func lastKey() []byte { return []byte{spaceCount, 1} }

// counted returns how many commits the database holds. ErrDamaged says that some before the last one are missing.
func counted(db *pebble.DB) (uint64, error) {
	count, err := number(db, countKey())
	if err != nil {
		return 0, fmt.Errorf("count commits: %w", err)
	}
	last, err := number(db, lastKey())
	if err != nil {
		return 0, fmt.Errorf("read the number of the last commit: %w", err)
	}
	if count != last {
		return 0, fmt.Errorf("%w: it holds %d of %d commits", ErrDamaged, count, last)
	}
	return last, nil
}

// number reads a key that may not be there: then it is 0.
func number(db *pebble.DB, key []byte) (uint64, error) {
	row, done, err := db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := decodeNumber(row)
	return n, errors.Join(err, done.Close())
}

func encodeNumber(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func decodeNumber(row []byte) (uint64, error) {
	if len(row) != 8 {
		return 0, fmt.Errorf("%w: a number has %d bytes", ErrDamaged, len(row))
	}
	return binary.BigEndian.Uint64(row), nil
}

// adder adds numbers that are written to the same key. It bears the name of pebble's own merger, under which stores of
// earlier versions were made: pebble opens nothing that was made under another name. They hold nothing merged.
var adder = &pebble.Merger{
	Name: pebble.DefaultMerger.Name,
	Merge: func(_, value []byte) (pebble.ValueMerger, error) {
		s := new(sum)
		return s, s.add(value)
	},
}

type sum struct{ n uint64 }

func (s *sum) add(value []byte) error {
	n, err := decodeNumber(value)
	s.n += n
	return err
}

func (s *sum) MergeNewer(value []byte) error { return s.add(value) }

func (s *sum) MergeOlder(value []byte) error { return s.add(value) }

func (s *sum) Finish(bool) ([]byte, io.Closer, error) { return encodeNumber(s.n), nil, nil }
