package store

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/foldtest"
	"github.com/pawl-run/pawl/projections/store/storetest"
)

// failing is a store of which only the failure is used.
func failing() *Store {
	s := new(Store)
	s.failure.Store(newFailure())
	return s
}

// looksOnly opens the store without changing it, and says whether it found what was committed.
func looksOnly(t *testing.T, dir string, filled bool) {
	t.Helper()
	contents := func() map[string][sha256.Size]byte {
		all := map[string][sha256.Size]byte{}
		err := filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == "LOCK" {
				return err
			}
			b, err := os.ReadFile(path)
			all[path] = sha256.Sum256(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := contents()
	s, err := Open(Config{Dir: dir, LookOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, found, err := s.Checkpoint(0); err != nil || found != filled || filled == (len(s.Warnings()) > 0) {
		t.Errorf("a look finds a checkpoint: %t, %v; it warns %q", found, err, s.Warnings())
	}
	s.corrupted(pebble.DataCorruptionInfo{Details: errors.New("a bad block")})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if after := contents(); !maps.Equal(before, after) {
		t.Errorf("a look has changed the store: %d files, and %d before", len(after), len(before))
	}
}

// TestLookOnly: a store that is looked at stays as it is, and so does one that is not there.
func TestLookOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, Config{Dir: dir})
	commit(t, s, whole(grow(t, foldtest.NewLog(6), "w", 30)))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	looksOnly(t, dir, true)
	s, err := Open(Config{Dir: dir + "2", LookOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a look has made a store: %v", err)
	}
}

// TestUnusableStoresAreSetAside: whatever is found in the directory, Open starts, and says so.
func TestUnusableStoresAreSetAside(t *testing.T) {
	t.Parallel()
	h := grow(t, foldtest.NewLog(6), "w", 30)
	fill := func(t *testing.T, dir string) {
		s, err := Open(Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, whole(h))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	each := func(t *testing.T, pattern string, spoil func(path string)) {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, p := range paths {
			spoil(p)
		}
	}
	write := func(t *testing.T, path string, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	raw := func(t *testing.T, dir string, change func(*pebble.DB) error) {
		db, err := pebble.Open(dir, &pebble.Options{Logger: quiet{failing()}, FormatMajorVersion: pebble.FormatNewest})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(change(db), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"another program's format": func(t *testing.T, dir string) {
			fill(t, dir)
			raw(t, dir, func(db *pebble.DB) error { return db.Set(formatKey(), []byte("other"), pebble.Sync) })
		},
		"another program's database": func(t *testing.T, dir string) {
			raw(t, dir, func(db *pebble.DB) error { return db.Set([]byte("x"), []byte("y"), pebble.Sync) })
		},
		"no manifest": func(t *testing.T, dir string) {
			fill(t, dir)
			each(t, filepath.Join(dir, "MANIFEST-*"), func(p string) { write(t, p, []byte("garbage")) })
		},
		"a table is gone": func(t *testing.T, dir string) {
			fill(t, dir)
			each(t, filepath.Join(dir, "*.sst"), func(p string) {
				if err := os.Remove(p); err != nil {
					t.Fatal(err)
				}
			})
		},
		"seen damaged": func(t *testing.T, dir string) {
			fill(t, dir)
			write(t, filepath.Join(dir, damageMark), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			spoil(t, dir)
			looksOnly(t, dir, false)
			s := open(t, Config{Dir: dir})
			if w := s.Warnings(); len(w) != 1 || !strings.Contains(w[0], dir+asideExt) {
				t.Errorf("warnings %q do not say where the old store went", w)
			}
			if _, found, err := s.Checkpoint(0); err != nil || found {
				t.Errorf("the new store is not empty: %v, %v", found, err)
			}
			if _, err := os.Stat(dir + asideExt); err != nil {
				t.Errorf("the old store is not kept: %v", err)
			}
			commit(t, s, whole(h))
		})
	}
}

// TestDamageIsNoticedAndHealed flips bytes inside a table: reading says so, nothing wrong is
// returned, and the next Open starts empty.
func TestDamageIsNoticedAndHealed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	h := grow(t, foldtest.NewLog(7), "w", 200)
	commit(t, s, whole(h))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	for _, p := range tables {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(b)/2; i += 512 { // data stands first, the index behind it
			b[i] ^= 0xff
		}
		if err := os.WriteFile(p, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err = Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Warnings()) == 0 { // Open did not happen to read a damaged block
		_, loadErr := s.Load("w")
		_, getErr := s.Get("w", h.State.Keys())
		if !errors.Is(errors.Join(loadErr, getErr), ErrDamaged) {
			t.Fatalf("damage was read as %v and %v", loadErr, getErr)
		}
	}
	if err := s.Err(); err != nil {
		t.Errorf("what is not damaged cannot be used either: %v", err)
	}
	if err := s.Close(); err != nil { // the next start rebuilds it: no reason to fail
		t.Fatal(err)
	}
	again := open(t, Config{Dir: dir})
	if _, found, err := again.Checkpoint(0); err != nil || found {
		t.Fatalf("the damaged store is used again: %v, %v", found, err)
	}
}

// TestAnotherVersionIsEmptied: an upgrade leaves nothing behind that looks like damage.
func TestAnotherVersionIsEmptied(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	old, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	h := grow(t, foldtest.NewLog(1), "w", 80)
	commit(t, old, whole(h))
	before := sha256.Sum256([]byte("rows of another shape"))
	if err := errors.Join(old.db.Set(formatKey(), before[:], pebble.Sync), old.Close()); err != nil {
		t.Fatal(err)
	}

	s := open(t, Config{Dir: dir})
	if w := s.Warnings(); len(w) != 1 || !strings.Contains(w[0], "another version") {
		t.Errorf("warnings %q do not say that another version wrote the store", w)
	}
	if _, found, err := s.Checkpoint(0); err != nil || found {
		t.Errorf("there is a checkpoint of the other version: %v, %v", found, err)
	}
	if names, err := s.Workflows(0); err != nil || len(names) > 0 {
		t.Errorf("there are workflows of the other version: %v, %v", names, err)
	}
	if _, err := os.Stat(dir + asideExt); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the store was set aside as damaged: %v", err)
	}
	commit(t, s, whole(h)) // with all its index entries
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, Config{Dir: dir})
	if state, err := s.Load("w"); err != nil || state.Head != h.State.Head || len(s.Warnings()) > 0 {
		t.Errorf("opened again: head %+v, %v, %q", state.Head, err, s.Warnings())
	}
}

// TestDamageSeenWhileOpenEndsNothing: what is not damaged goes on being of use, it is said once, and the
// next Open starts empty.
func TestDamageSeenWhileOpenEndsNothing(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	var said strings.Builder
	s, err := Open(Config{InMemory: true, FS: disk, Logger: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	h := grow(t, foldtest.NewLog(7), "w", 20)
	commit(t, s, whole(h))
	for range 2 {
		s.corrupted(pebble.DataCorruptionInfo{Path: "store/000008.sst", Details: errors.New("checksum mismatch")})
	}
	if n := strings.Count(said.String(), "local store is damaged"); n != 1 ||
		!strings.Contains(said.String(), "000008.sst") {
		t.Errorf("it is said %d times: %s", n, said.String())
	}
	commit(t, s, whole(h))
	if err := errors.Join(s.Err(), s.Close()); err != nil {
		t.Errorf("damage ended it: %v", err)
	}
	again := open(t, Config{InMemory: true, FS: disk})
	if _, found, err := again.Checkpoint(0); err != nil || found {
		t.Errorf("the damaged store is used again: %v, %v", found, err)
	}
}

// TestDamageThatCannotBeMarkedIsSaidOnce: a store whose directory is gone fails each read; it says once what to do.
func TestDamageThatCannotBeMarkedIsSaidOnce(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	var said strings.Builder
	s, err := Open(Config{InMemory: true, FS: disk, Logger: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := disk.RemoveAll(s.cfg.Dir); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.fault("read rows", ErrDamaged); !errors.Is(err, ErrDamaged) {
			t.Errorf("the error is %v", err)
		}
	}
	if n := strings.Count(said.String(), "could not be marked"); n != 1 {
		t.Errorf("it is said %d times: %s", n, said.String())
	}
	_ = s.Close() // its files are gone, so it need not close cleanly
}

// TestFullDisk: when writes begin to fail, commits end in ErrFailed and the process lives; after
// the next Open the store is as it was after some earlier commit.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	mem := vfs.NewCrashableMem()
	var full atomic.Bool
	s, err := Open(Config{InMemory: true, FS: storetest.Disk(mem, full.Load)})
	if err != nil {
		t.Fatal(err)
	}
	h := grow(t, foldtest.NewLog(9), "w", 50)
	commit(t, s, whole(h))
	full.Store(true)
	var failed error
	for range 10_000 { // writes are not waited for, so the failure shows after some commits
		if _, err := h.Step(); err != nil {
			t.Fatal(err)
		}
		b := whole(h)
		b.Changes[0].Touched = h.State.Touched
		if failed = s.Commit(b); failed != nil {
			break
		}
	}
	if !errors.Is(failed, ErrFailed) {
		t.Fatalf("commits on a full disk: %v, want ErrFailed", failed)
	}
	select {
	case <-s.Failed():
	default:
		t.Error("the failure is not reported")
	}
	if err := s.Commit(whole(h)); !errors.Is(err, ErrFailed) {
		t.Fatalf("commit after a failed one: %v, want ErrFailed", err)
	}
	if _, err := s.Load("w"); err != nil {
		t.Errorf("reading stopped with writing: %v", err)
	}
	full.Store(false)
	// The process ends and is started again: what the system was given of the files is there.
	restarted := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	if err := s.Close(); !errors.Is(err, ErrFailed) {
		t.Errorf("close of a failed store: %v, want ErrFailed", err)
	}
	s = open(t, Config{InMemory: true, FS: restarted})
	state, err := s.Load("w")
	if err != nil {
		t.Fatal(err)
	}
	if state.Head.Revision > h.State.Head.Revision {
		t.Errorf("revision %d was never committed", state.Head.Revision)
	}
	if err := s.Commit(whole(h)); err != nil {
		t.Errorf("commit when there is room again: %v", err)
	}
}

// TestCrashLosesATailOnly crashes the machine after many commits: what is found is the store
// after one of them, whole.
func TestCrashLosesATailOnly(t *testing.T) {
	t.Parallel()
	mem := vfs.NewCrashableMem()
	s, err := Open(Config{InMemory: true, FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	log := foldtest.NewLog(10)
	h := foldtest.NewHistory(log, "w")
	var disks []*vfs.MemFS
	for i := range 300 {
		rec, err := h.Step()
		if err != nil {
			t.Fatal(err)
		}
		b := whole(h)
		b.Changes[0].Touched = h.State.Touched
		b.Checkpoint = Checkpoint{Seq: rec.Position.Seq, Transition: rec.ID, Hash: rec.Hash}
		commit(t, s, b)
		if i%100 == 50 {
			if err := s.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if i%60 == 59 {
			disks = append(disks, mem.CrashClone(vfs.CrashCloneCfg{}))
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i, disk := range disks {
		s := open(t, Config{InMemory: true, FS: disk})
		if w := s.Warnings(); len(w) > 0 {
			t.Fatalf("disk %d: a crash is no damage: %v", i, w)
		}
		c, found, err := s.Checkpoint(0)
		if err != nil {
			t.Fatal(err)
		}
		full := new(projections.State)
		for _, rec := range log.Records {
			if found && rec.Position.Seq <= c.Seq {
				if full, err = projections.Apply(full, &rec); err != nil {
					t.Fatal(err)
				}
			}
		}
		if found && full.Head.Hash != c.Hash {
			t.Fatalf("disk %d: checkpoint %+v is of no transition", i, c)
		}
		state, err := s.Load("w")
		if err != nil {
			t.Fatal(err)
		}
		if state.Head != full.Head {
			t.Fatalf("disk %d: rows end at %+v, checkpoint at %+v", i, state.Head, full.Head)
		}
		rows, err := s.Get("w", full.Keys())
		if full.Exists() && (err != nil || len(rows) != len(full.Keys())) {
			t.Fatalf("disk %d: %d of %d rows, %v", i, len(rows), len(full.Keys()), err)
		}
		if i > 0 && !found {
			t.Fatalf("disk %d lost what was flushed long before", i)
		}
	}
}
