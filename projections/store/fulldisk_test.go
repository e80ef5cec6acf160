package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/foldtest"
)

// smallDisk refuses changes once it has made so many, or taken so many bytes: the write that does
// not fit is made in part. Removing needs no room.
type smallDisk struct {
	vfs.FS
	mu      sync.Mutex
	changes int // left; negative is no limit
	bytes   int
	made    int
	refused []string
}

func newSmallDisk(under vfs.FS, changes, bytes int) *smallDisk {
	d := &smallDisk{changes: changes, bytes: bytes}
	d.FS = errorfs.Wrap(&partial{under, d}, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch {
		case op.Kind.ReadOrWrite() != errorfs.OpIsWrite, op.Kind == errorfs.OpRemove, op.Kind == errorfs.OpRemoveAll,
			op.Kind == errorfs.OpFileClose, op.Kind == errorfs.OpMkdirAll:
			return nil
		}
		return d.change(fmt.Sprintf("%v %s", op.Kind, op.Path))
	}))
	return d
}

func (d *smallDisk) change(what string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.made++
	if d.changes == 0 {
		d.refused = append(d.refused, what)
		return &os.PathError{Op: what, Path: "small disk", Err: syscall.ENOSPC}
	}
	d.changes--
	return nil
}

// full says how many changes were refused, and what the first one was.
func (d *smallDisk) full() (int, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.refused) == 0 {
		return 0, ""
	}
	return len(d.refused), d.refused[0]
}

// partial writes what there is room for.
type partial struct {
	vfs.FS
	disk *smallDisk
}

type partialFile struct {
	vfs.File
	disk *smallDisk
}

func (p *partial) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := p.FS.Create(name, c)
	return &partialFile{f, p.disk}, err
}

func (p *partial) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := p.FS.ReuseForWrite(old, name, c)
	return &partialFile{f, p.disk}, err
}

func (f *partialFile) Write(b []byte) (int, error) {
	f.disk.mu.Lock()
	room := len(b)
	if f.disk.bytes >= 0 {
		room = min(room, f.disk.bytes)
		f.disk.bytes -= room
	}
	if room < len(b) {
		f.disk.changes = 0
		f.disk.refused = append(f.disk.refused, "part of a write")
	}
	f.disk.mu.Unlock()
	n, err := f.File.Write(bytes.Clone(b[:room]))
	if err == nil && room < len(b) {
		err = syscall.ENOSPC
	}
	return n, err
}

// life is all that a store does between two starts: commits, flushes, a compaction, the end. It
// returns the first error, and wants the store to be readable whatever it meets.
func life(t *testing.T, fs vfs.FS, log *foldtest.Log, h *foldtest.History) error {
	s, err := Open(Config{InMemory: true, FS: fs})
	if err != nil {
		return err
	}
	if w := s.Warnings(); len(w) > 0 {
		t.Errorf("a full disk is no damage: %q", w)
	}
	var failed error
	for i := range 9 {
		if _, err := h.Step(); err != nil {
			t.Fatal(err)
		}
		last := log.Records[len(log.Records)-1]
		b := whole(h)
		b.Checkpoint = Checkpoint{Seq: last.Position.Seq, Transition: last.ID, Hash: last.Hash}
		if failed = s.Commit(b); failed != nil {
			break
		}
		if state, err := s.Load("w"); err != nil || state.Head != h.State.Head {
			t.Errorf("commit %d is not read back: %+v %v", i, state.Head, err)
		}
		if i%4 == 2 { // as a full memtable would
			if err := s.db.Flush(); err != nil {
				t.Errorf("flush: %v", err)
			}
		}
	}
	if failed == nil {
		if err := s.db.Compact(t.Context(), []byte{0}, []byte{0xff, 0xff}, false); err != nil {
			t.Errorf("compact: %v", err)
		}
	}
	if _, err := s.Load("w"); err != nil {
		t.Errorf("reading ended with writing: %v", err)
	}
	if err := s.Close(); failed == nil {
		return err
	} else if !errors.Is(err, ErrFailed) {
		t.Errorf("close of a failed store: %v, want ErrFailed", err)
	}
	return failed
}

// mustBeSound wants the store on the disk to be as it was after some commit, and to go on.
func mustBeSound(t *testing.T, fs vfs.FS, log *foldtest.Log, h *foldtest.History) {
	t.Helper()
	s, err := Open(Config{InMemory: true, FS: fs})
	if err != nil {
		t.Fatalf("with room again: %v", err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("close with room again: %v", err)
		}
	}()
	if w := s.Warnings(); len(w) > 0 {
		t.Fatalf("a full disk is no damage: %q", w)
	}
	c, found, err := s.Checkpoint(0)
	if err != nil {
		t.Fatal(err)
	}
	want := new(projections.State)
	for _, rec := range log.Records {
		if found && rec.Position.Seq <= c.Seq {
			if want, err = projections.Apply(want, &rec); err != nil {
				t.Fatal(err)
			}
		}
	}
	state := new(projections.State)
	if found {
		if state, err = s.Load("w"); err != nil {
			t.Fatal(err)
		}
	}
	if state.Head != want.Head || found && want.Head.Hash != c.Hash {
		t.Fatalf("rows end at %+v, the checkpoint at %+v", state.Head, c)
	}
	if rows, err := s.Get("w", want.Keys()); found && (err != nil || len(rows) != len(want.Keys())) {
		t.Fatalf("%d of %d rows, %v", len(rows), len(want.Keys()), err)
	}
	if _, err := h.Step(); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(whole(h)); err != nil {
		t.Errorf("commit with room again: %v", err)
	}
}

// TestAnyWriteMayBeTheLast fills the disk at every change that a store makes in its life, from the
// first start and from a later one: nothing panics or waits, the failure has its name, and what is
// found once there is room again is whole.
func TestAnyWriteMayBeTheLast(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) (*vfs.MemFS, *foldtest.Log, *foldtest.History){
		"from nothing": func(*testing.T) (*vfs.MemFS, *foldtest.Log, *foldtest.History) {
			log := foldtest.NewLog(22)
			return vfs.NewMem(), log, foldtest.NewHistory(log, "w")
		},
		"from an earlier start": func(t *testing.T) (*vfs.MemFS, *foldtest.Log, *foldtest.History) {
			log := foldtest.NewLog(23)
			mem, h := vfs.NewMem(), foldtest.NewHistory(log, "w")
			if err := life(t, mem, log, h); err != nil {
				t.Fatal(err)
			}
			return mem, log, h
		},
	} {
		for unit, limit := range map[string]func(n int) (changes, bytes int){
			"changes": func(n int) (int, int) { return n, -1 },
			"bytes":   func(n int) (int, int) { return -1, 5 * n * n * n }, // small files come first
		} {
			t.Run(name+", by "+unit, func(t *testing.T) {
				t.Parallel()
				for n := 0; ; n++ {
					mem, log, h := start(t)
					disk := newSmallDisk(mem, -1, -1)
					disk.changes, disk.bytes = limit(n)
					err := life(t, disk, log, h)
					refused, first := disk.full()
					if refused == 0 {
						if err != nil {
							t.Fatalf("with room for all: %v", err)
						}
						if n < 15 {
							t.Fatalf("only %d limits were too little", n)
						}
						return
					}
					if !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
						t.Fatalf("%d %s, refused %q: %v, want ErrFailed with its cause", n, unit, first, err)
					}
					if t.Failed() {
						t.Fatalf("%d %s, refused %q", n, unit, first)
					}
					// The first refusal is the last change: others can only have been under way.
					if refused > 4 {
						t.Fatalf("%d %s: %d changes were tried on a full disk", n, unit, refused)
					}
					// A start on the full disk ends in the same words, and spoils nothing either.
					if _, err := Open(Config{InMemory: true, FS: newSmallDisk(mem, 0, 0)}); !errors.Is(err, ErrFailed) ||
						!errors.Is(err, syscall.ENOSPC) {
						t.Fatalf("%d %s: start on the full disk: %v", n, unit, err)
					}
					mustBeSound(t, mem, log, h)
				}
			})
		}
	}
}

// TestAFailedStoreCanBeReset: what was moved to memory is no obstacle.
func TestAFailedStoreCanBeReset(t *testing.T) {
	t.Parallel()
	disk := newSmallDisk(vfs.NewMem(), -1, -1)
	s := open(t, Config{InMemory: true, FS: disk})
	h := grow(t, foldtest.NewLog(24), "w", 40)
	commit(t, s, whole(h))
	disk.mu.Lock()
	disk.changes = 0
	disk.mu.Unlock()
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(whole(h)); !errors.Is(err, ErrFailed) {
		t.Fatalf("commit on a full disk: %v", err)
	}
	disk.mu.Lock()
	disk.changes = -1
	disk.mu.Unlock()
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	if names, err := s.Workflows(0); err != nil || len(names) > 0 {
		t.Errorf("after the reset: %v %v", names, err)
	}
	commit(t, s, whole(h))
}
