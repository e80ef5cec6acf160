package backup

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/eventlog/durable"
	"github.com/pawl-run/pawl/ops/replay"
)

// Taken is the result of a copy.
type Taken struct {
	Manifest
	replay.Verification
}

// Take copies the origin's log into a folder, which must be empty or not exist, and checks the copy. Errors:
// ErrNotEmpty; ErrWrong with the findings of the check: the folder is then no backup.
func Take(ctx context.Context, from Origin, dir string) (Taken, error) {
	if err := makeEmpty(dir); err != nil {
		return Taken{}, err
	}
	d, err := from.Describe(ctx)
	if err != nil {
		return Taken{}, err
	}
	m := Manifest{Format: formatVersion, Source: d.Source, TakenAt: d.TakenAt, NamesLost: d.NamesLost,
		Partitions: make([]Partition, len(d.Ends))}
	for p, end := range d.Ends {
		if m.Partitions[p], err = copyPartition(ctx, from, p, end, dir); err != nil {
			return Taken{}, err
		}
	}
	if err := durable.SyncDir(dir); err != nil {
		return Taken{}, fmt.Errorf("write the backup: %w", err)
	}
	taken := Taken{Manifest: m}
	folder, err := openFolder(dir, m)
	if err != nil {
		return taken, err
	}
	defer func() { _ = folder.Close() }()
	if taken.Verification, err = replay.Verify(ctx, folder, nil, maxFolded); err != nil {
		return taken, fmt.Errorf("check the copy: %w", err)
	}
	if !taken.OK {
		return taken, fmt.Errorf("%w: %s", ErrWrong, taken.Problems[0])
	}
	return taken, m.write(dir)
}

// maxFolded bounds the past of a workflow that is folded anew to check a copy: a fold takes about as much memory.
const maxFolded = 256 << 20

func makeEmpty(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of the backup: %w", err)
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look into the folder of the backup: %w", err)
	}
	if len(there) > 0 {
		return fmt.Errorf("%w: %s", ErrNotEmpty, dir)
	}
	return nil
}

// copyPartition writes a partition's file, up to its end at the time of the description.
func copyPartition(ctx context.Context, from Origin, p int, end uint64, dir string) (copied Partition, err error) {
	copied = Partition{File: partitionFile(p), Last: end}
	f, err := os.OpenFile(filepath.Join(dir, copied.File), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return copied, fmt.Errorf("write the backup: %w", err)
	}
	defer func() {
		if closed := f.Close(); err == nil && closed != nil && !errors.Is(closed, fs.ErrClosed) {
			err = fmt.Errorf("write the backup: %w", closed)
		}
	}()
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(f, sum), 1<<20)
	write := func(b []byte) {
		n, failed := out.Write(b)
		copied.Bytes += int64(n)
		err = errors.Join(err, failed)
	}
	write([]byte(magic))
	for next := uint64(1); next != 0 && next <= end; {
		page, failed := from.Page(ctx, p, next, end)
		if failed != nil {
			return copied, failed
		}
		for _, r := range page.Records {
			write(appendHeader(nil, r))
			write(r.Bytes)
			copied.Records++
		}
		if err != nil {
			return copied, fmt.Errorf("write the backup: %w", err)
		}
		next = page.Next
	}
	if err := errors.Join(out.Flush(), f.Sync()); err != nil {
		return copied, fmt.Errorf("write the backup: %w", err)
	}
	copied.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return copied, nil
}
