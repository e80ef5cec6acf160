package embeddednats

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/s2"
	"github.com/minio/highwayhash"

	"github.com/pawl-run/pawl/eventlog/durable"
)

// After an unclean stop nats-server 2.15.2 reads each block of a stream again, and cuts a block off, on disk, at the
// first record whose checksum is wrong: one flipped bit destroys everything that was acknowledged behind it in that
// block. So before the server starts, such a record is marked as erased, which the server passes over: exactly that
// message is then missing, which jslog notices, and those behind it stay. A record with nothing good behind it is a
// torn end, and is left to the server.
//
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

// cleanStop is the file that says how the streams were left by a clean stop.
const cleanStop = "stopped"

// savedDir keeps the blocks in which records were marked as erased, as they were.
const savedDir = "damaged"

// mendBlocks marks the damaged records of all streams below dir as erased, unless the last stop was clean: then the
// server reads no block again. The server must not run.
func mendBlocks(dir string, log *slog.Logger) error {
	streams, err := below(dir, "jetstream/*/streams/*")
	if err != nil {
		return fmt.Errorf("look for streams: %w", err)
	}
	left, err := os.ReadFile(filepath.Join(dir, cleanStop))
	if err == nil && string(left) == stopped(streams) {
		return forgetCleanStop(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read how the last stop was: %w", err)
	}
	for _, stream := range streams {
		if err := mendStream(dir, stream, log); err != nil {
			return fmt.Errorf("look for damage in stream %s: %w", filepath.Base(stream), err)
		}
	}
	return forgetCleanStop(dir)
}

// forgetCleanStop removes the note of the last clean stop, from the disk too, before the server runs: a later power
// failure must not pass for a clean stop.
func forgetCleanStop(dir string) error {
	err := os.Remove(filepath.Join(dir, cleanStop))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return durable.SyncDir(dir)
}

// below finds files by a pattern with slashes. Special characters in the directory's own name have no meaning.
func below(dir, pattern string) ([]string, error) {
	found, err := fs.Glob(os.DirFS(dir), pattern)
	for i := range found {
		found[i] = filepath.Join(dir, filepath.FromSlash(found[i]))
	}
	return found, err
}

// noteCleanStop is called when the server has stopped.
func noteCleanStop(dir string) error {
	streams, err := below(dir, "jetstream/*/streams/*")
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, cleanStop), []byte(stopped(streams)))
}

// stopped identifies the state files that the server writes when it stops: after a crash, also one of an older
// version that does not know the note, they differ.
func stopped(streams []string) string {
	var all strings.Builder
	for _, stream := range streams {
		info, err := os.Stat(filepath.Join(stream, "msgs", "index.db"))
		if err != nil {
			fmt.Fprintf(&all, "%s none\n", filepath.Base(stream))
			continue
		}
		fmt.Fprintf(&all, "%s %d %d\n", filepath.Base(stream), info.Size(), info.ModTime().UnixNano())
	}
	sum := sha256.Sum256([]byte(all.String()))
	return hex.EncodeToString(sum[:])
}

// mendStream leaves alone what it cannot read for certain: streams without a description, and encrypted ones, which
// Pawl does not make.
func mendStream(dir, stream string, log *slog.Logger) error {
	var meta struct {
		Name string `json:"name"`
	}
	text, err := os.ReadFile(filepath.Join(stream, "meta.inf"))
	if err != nil || json.Unmarshal(text, &meta) != nil || meta.Name != filepath.Base(stream) {
		return nil
	}
	blocks, err := blocksOf(stream)
	if err != nil {
		return err
	}
	last := uint64(0)
	for _, n := range blocks {
		path := filepath.Join(stream, "msgs", strconv.FormatUint(n, 10)+".blk")
		key := sha256.Sum256(fmt.Appendf(nil, "%s-%d", meta.Name, n))
		sum, err := highwayhash.NewDigest64(key[:])
		if err != nil {
			return err
		}
		stored, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text, err := expanded(stored)
		if err != nil {
			log.Error("a block of a stream is damaged and cannot be read; it is left as it is", "stream", meta.Name, "block",
				path, "error", err)
			continue
		}
		b := block{text: text, sum: sum, last: last}
		all := b.damage()
		last = b.last
		if len(all) == 0 {
			continue
		}
		saved := filepath.Join(dir, savedDir, fmt.Sprintf("%s-%d.blk", meta.Name, n))
		if err := os.MkdirAll(filepath.Dir(saved), 0o700); err != nil {
			return err
		}
		if err := durable.WriteFile(saved, stored); err != nil {
			return err
		}
		for _, d := range all {
			d.erase(text, sum)
			log.Error("a record of a stream is damaged; it is marked as erased, so that what stands behind it is kept",
				"stream", meta.Name, "sequence", d.seq, "block", path, "offset", d.from, "bytes", d.to-d.from,
				"the block as it was", saved)
		}
		if err := durable.WriteFile(path, text); err != nil {
			return err
		}
	}
	return nil
}

// blocksOf lists the numbers of the stream's blocks in ascending order.
func blocksOf(stream string) ([]uint64, error) {
	files, err := below(stream, "msgs/*.blk")
	if err != nil {
		return nil, err
	}
	var blocks []uint64
	for _, f := range files {
		if n, err := strconv.ParseUint(strings.TrimSuffix(filepath.Base(f), ".blk"), 10, 32); err == nil {
			blocks = append(blocks, n)
		}
	}
	slices.Sort(blocks)
	return blocks, nil
}

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

// resume finds the next good record. Before the checksum is worked out, a sequence is asked for that can follow.
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

// lost is a sequence that is missing before the next message, which stands at a place or behind it. The mark must not
// name a message that is there: the server would pass over that one.
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
