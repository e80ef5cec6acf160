package store

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/pawl-run/pawl/projections/foldtest"
)

// TestCommitsMissingInTheMiddle: a store that lacks commits before its checkpoint is damaged, although each file that
// is left is whole. After a kill some commits are in no table yet, and the database's own log has several files.
func TestCommitsMissingInTheMiddle(t *testing.T) {
	t.Parallel()
	disk := vfs.NewCrashableMem()
	killed := make(chan struct{})
	untilKilled := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
			<-killed // what is committed stays in the log
		}
		return nil
	}))
	s, err := Open(Config{InMemory: true, FS: disk}) // its format is in a table
	if err == nil {
		err = s.Close()
	}
	if err == nil {
		s, err = Open(Config{InMemory: true, FS: untilKilled})
	}
	if err != nil {
		t.Fatal(err)
	}
	// logs are the files of the database's own log that hold commits, in order.
	logs := func(disk vfs.FS) (full []string) {
		names, err := disk.List("store")
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		for _, name := range names {
			info, err := disk.Stat("store/" + name) // one that is used no more may vanish
			if err == nil && strings.HasSuffix(name, ".log") && info.Size() > 4096 {
				full = append(full, "store/"+name)
			}
		}
		return full
	}
	h := foldtest.NewHistory(foldtest.NewLog(4), "w")
	step := func() {
		if _, err := h.Step(); err != nil {
			t.Fatal(err)
		}
		b := whole(h)
		b.Changes[0].Touched = h.State.Touched
		commit(t, s, b)
	}
	for len(logs(disk)) < 2 {
		step()
		if err := s.db.LogData(nil, pebble.Sync); err != nil { // after it, all commits are in files
			t.Fatal(err)
		}
	}
	clone := func() *vfs.MemFS {
		return disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	}
	clones := map[string]*vfs.MemFS{"whole": clone(), "a file is gone": clone(), "a file is empty": clone()}
	close(killed)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, left := range clones {
		before := logs(left)[0]
		var err error
		switch name {
		case "a file is gone":
			err = left.Remove(before)
		case "a file is empty":
			var f vfs.File
			if f, err = left.Create(before, vfs.WriteCategoryUnspecified); err == nil {
				err = f.Close()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, Config{InMemory: true, FS: left})
		checkpoint, found, err := s.Checkpoint(0)
		warnings := strings.Join(s.Warnings(), "\n")
		if name == "whole" {
			if err != nil || checkpoint.Seq != h.State.Head.Seq || warnings != "" {
				t.Errorf("%s: checkpoint %+v, %v, %q", name, checkpoint, err, warnings)
			}
		} else if err != nil || found || !strings.Contains(warnings, " commits") {
			t.Errorf("%s: checkpoint %+v, %v, %q", name, checkpoint, err, warnings)
		}
	}
}

// TestCommitsAreCounted: through flushes, compactions, new starts and a Reset.
func TestCommitsAreCounted(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	h := grow(t, foldtest.NewLog(5), "w", 30)
	var want uint64
	for range 3 {
		s, err := Open(Config{InMemory: true, FS: disk})
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			commit(t, s, whole(h))
			want++
			err = errors.Join(err, s.db.Flush())
		}
		err = errors.Join(err, s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false))
		n, countErr := counted(s.db)
		if err = errors.Join(err, countErr, s.Close()); err != nil || n != want || len(s.Warnings()) > 0 {
			t.Fatalf("%d commits, %v, %q, want %d", n, err, s.Warnings(), want)
		}
	}
	s := open(t, Config{InMemory: true, FS: disk})
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	commit(t, s, whole(h))
	if n, err := counted(s.db); n != 1 || err != nil {
		t.Errorf("after a reset %d commits, %v", n, err)
	}
}
