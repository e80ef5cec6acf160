package embeddednats

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/highwayhash"

	"github.com/pawl-run/pawl/eventlog/durable"
)

// cleanStop is the file that says how the streams were left by a clean stop.
const cleanStop = "stopped"

// savedDir keeps the blocks in which records were marked as erased, as they were.
const savedDir = "damaged"

// mendBlocks marks the damaged records of all streams below dir as erased, unless the last stop was clean: then the
// server reads no block again. The server must not run.
//
// After an unclean stop nats-server 2.15.2 reads each block of a stream again, and cuts a block off, on disk, at the
// first record whose checksum is wrong: one flipped bit destroys everything that was acknowledged behind it in that
// block. So before the server starts, such a record is marked as erased, which the server passes over: exactly that
// message is then missing, which jslog notices, and those behind it stay. A record with nothing good behind it is a
// torn end, and is left to the server.
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

// noteCleanStop writes the note of a clean stop. The server has stopped by then.
func noteCleanStop(dir string) error {
	streams, err := below(dir, "jetstream/*/streams/*")
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, cleanStop), []byte(stopped(streams)))
}

// stopped identifies the state files that the server writes when it stops. After a crash they differ from the note,
// also where an older version, which does not know the note, has crashed.
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
