package backup

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/eventlog"
)

// Folder is a backup that can be read. It is an [eventlog.Log] to which nothing can be appended.
type Folder struct {
	Manifest
	// ID identifies the backup.
	ID string

	files  []*os.File
	places []map[eventlog.WorkflowName][]int64 // of the records of each workflow, by partition
}

var _ eventlog.Log = (*Folder)(nil)

// Open reads a backup once and checks that no byte of it has changed. Errors: ErrNoBackup, and eventlog.ErrDamaged
// where a file is not what the manifest says. The Folder must be closed.
func Open(dir string) (*Folder, error) {
	m, id, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	folder, err := openFolder(dir, m)
	if err != nil {
		return nil, err
	}
	folder.ID = id
	return folder, nil
}

func openFolder(dir string, m Manifest) (*Folder, error) {
	f := &Folder{Manifest: m}
	for p := range m.Partitions {
		if err := f.openPartition(dir, p); err != nil {
			return nil, errors.Join(fmt.Errorf("read the backup: %w", err), f.Close())
		}
	}
	return f, nil
}

func (f *Folder) openPartition(dir string, p int) error {
	want := f.Manifest.Partitions[p]
	if want.File != partitionFile(p) {
		return fmt.Errorf("%w: partition %d is in %q", ErrNoBackup, p, want.File)
	}
	file, err := os.Open(filepath.Join(dir, want.File))
	if err != nil {
		return err
	}
	f.files = append(f.files, file)
	sum := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(file, sum), 1<<20)
	if err := skipMagic(in, want.File); err != nil {
		return err
	}
	at, records, places := int64(len(magic)), 0, map[eventlog.WorkflowName][]int64{}
	for {
		r, err := readFrame(in)
		if errors.Is(err, io.EOF) && !errors.Is(err, eventlog.ErrDamaged) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", want.File, err)
		}
		t, err := eventlog.Decode(r.Bytes)
		if err != nil {
			return fmt.Errorf("%s, position %d: %w", want.File, r.Seq, err)
		}
		if eventlog.PartitionOf(t.Workflow, len(f.Manifest.Partitions)) != p {
			return fmt.Errorf("%w: %s is in the file of partition %d", eventlog.ErrDamaged, t.Workflow, p)
		}
		places[t.Workflow] = append(places[t.Workflow], at)
		records++
		at += frameHeader + int64(len(r.Bytes))
	}
	if records != want.Records || hex.EncodeToString(sum.Sum(nil)) != want.SHA256 {
		return fmt.Errorf("%w: %s is not what %s says of it", eventlog.ErrDamaged, want.File, manifestFile)
	}
	f.places = append(f.places, places)
	return nil
}

func skipMagic(in io.Reader, name string) error {
	begin := make([]byte, len(magic))
	if _, err := io.ReadFull(in, begin); err != nil || string(begin) != magic {
		return fmt.Errorf("%w: %s does not begin as it must", eventlog.ErrDamaged, name)
	}
	return nil
}

// workflows are the names of the workflows in the backup, in the order of its partitions, with that of the installation
// itself.
func (f *Folder) workflows() iter.Seq[eventlog.WorkflowName] {
	return func(yield func(eventlog.WorkflowName) bool) {
		for _, places := range f.places {
			for name := range places {
				if !yield(name) {
					return
				}
			}
		}
	}
}

// records yields the records of a partition in their order.
func (f *Folder) records(ctx context.Context, p int) iter.Seq2[eventlog.StoredRecord, error] {
	return func(yield func(eventlog.StoredRecord, error) bool) {
		in := bufio.NewReaderSize(io.NewSectionReader(f.files[p], int64(len(magic)), f.Manifest.Partitions[p].Bytes), 1<<20)
		for {
			r, err := readFrame(in)
			if errors.Is(err, io.EOF) && !errors.Is(err, eventlog.ErrDamaged) {
				return
			}
			if err == nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(eventlog.StoredRecord{}, fmt.Errorf("read the backup: %w", err))
				return
			}
			record, err := r.record(p)
			if !yield(eventlog.StoredRecord{Record: record, Stored: r.Bytes}, err) || err != nil {
				return
			}
		}
	}
}

func (s Stored) record(p int) (eventlog.Record, error) {
	r := eventlog.Record{Position: eventlog.Position{Partition: p, Seq: s.Seq}, Hash: eventlog.HashOf(s.Bytes),
		Size: len(s.Bytes)}
	t, err := eventlog.Decode(s.Bytes)
	if err != nil {
		return r, fmt.Errorf("read the backup at %s: %w", r.Position, err)
	}
	r.Transition = t
	return r, nil
}

// Path is the path of the file of a partition.
func (f *Folder) Path(p int) string { return f.files[p].Name() }

// Partitions implements eventlog.Log.
func (f *Folder) Partitions() int { return len(f.Manifest.Partitions) }

// PartitionOf implements eventlog.Log.
func (f *Folder) PartitionOf(w eventlog.WorkflowName) int {
	return eventlog.PartitionOf(w, f.Partitions())
}

// MaxSize implements eventlog.Log.
func (f *Folder) MaxSize() int { return 0 }

// Identity implements eventlog.Log.
func (f *Folder) Identity(p int) string { return fmt.Sprintf("%s/%d", f.Installation, p) }

// Append implements eventlog.Log: a backup is not changed.
func (f *Folder) Append(context.Context, eventlog.Entry) (eventlog.Written, error) {
	return eventlog.Written{}, fmt.Errorf("append to a backup: %w", eventlog.ErrClosed)
}

// Last implements eventlog.Log.
func (f *Folder) Last(_ context.Context, p int) (uint64, error) {
	return f.Manifest.Partitions[p].Last, nil
}

// Read implements eventlog.Log.
func (f *Folder) Read(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		for r, err := range f.records(ctx, p) {
			if err == nil && r.Position.Seq < from {
				continue
			}
			if !yield(r.Record, err) {
				return
			}
		}
	}
}

// ReadWorkflow implements eventlog.Log.
func (f *Folder) ReadWorkflow(ctx context.Context, w eventlog.WorkflowName,
	from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		p := f.PartitionOf(w)
		for _, at := range f.places[p][w] {
			stored, err := readFrame(io.NewSectionReader(f.files[p], at, frameHeader+maxRecord))
			if err == nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(eventlog.Record{}, fmt.Errorf("read the backup: %w", err))
				return
			}
			if stored.Seq < from {
				continue
			}
			if r, err := stored.record(p); !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Watch implements eventlog.Log: nothing is added to a backup.
func (f *Folder) Watch(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.Record, error] {
	return f.Read(ctx, p, from)
}

// Close closes the files.
func (f *Folder) Close() error {
	var errs []error
	for _, file := range f.files {
		errs = append(errs, file.Close())
	}
	f.files = nil
	return errors.Join(errs...)
}
