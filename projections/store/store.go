package store

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pawl-run/pawl/eventlog"
)

const (
	// memTableSize must hold several commits of a busy engine: each flush adds a layer that lookups
	// go through and compactions merge, and a commit that would fill half of it is a flush of its
	// own. With 4 MiB the store took twice the processor time.
	memTableSize = 16 << 20
	// memory bounds cache and memtables together: pebble takes the memtables out of the cache's
	// capacity, so this must stay well above two of them.
	memory = 40 << 20
	// damageMark is left in a store that was seen to be damaged, so that the next Open does not
	// trust it again.
	damageMark = "DAMAGED"
	asideExt   = ".damaged"
)

// Config says where a store is. The zero Config is invalid: set Dir or InMemory.
type Config struct {
	// Dir is created if missing. It must be the store's own: a directory with anything else in
	// it is set aside.
	Dir string
	// LookOnly changes nothing in Dir but its lock: writes go to memory and are lost when the store is closed. If Dir
	// has no usable store, an empty one in memory is opened instead.
	LookOnly bool
	// InMemory keeps everything in memory, for tests.
	InMemory bool
	// Logger takes errors of background work; nil discards them.
	Logger *slog.Logger
	// FS is where Dir is; nil is the disk, or memory. It is for tests of what a disk can do.
	FS vfs.FS
}

// Store is the local store. Its methods are safe for concurrent use.
type Store struct {
	cfg      Config
	fs       vfs.FS
	log      *slog.Logger
	warnings []string
	// failure is the first failed write: there is none after it, so the order of commits is kept.
	failure  atomic.Pointer[failure]
	damaged  atomic.Bool
	unmarked atomic.Bool // the log says already that the damage could not be marked
	keysRead atomic.Int64

	// mu is held shared by every use of db and seen, and exclusively by Reset and Close.
	mu   sync.RWMutex
	db   *pebble.DB
	seen *seen // of db

	// committing serializes commits. heads holds where each workflow's rows end, as a sequence:
	// what was created later has no index entries yet.
	committing sync.Mutex
	heads      map[eventlog.WorkflowName]uint64
	enc        encoder
	batchSize  int // of the last commit: the next will be about as large
	commits    uint64
}

// Open opens the store, or creates it. A store of another version is emptied. One that is damaged, or
// not a store at all, is moved to `Dir.damaged` (replacing what an earlier Open moved there) and an
// empty one is started. ErrLocked and errors of the file system (full, not allowed) are returned
// and nothing is moved.
func Open(cfg Config) (*Store, error) {
	if (cfg.Dir == "") != cfg.InMemory {
		return nil, errors.New("open local store: set either Dir or InMemory")
	}
	s := &Store{cfg: cfg, fs: cfg.FS, log: cfg.Logger, heads: map[eventlog.WorkflowName]uint64{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if cfg.InMemory {
		s.cfg.Dir = "store"
	}
	if s.fs == nil {
		s.fs = vfs.Default
		if cfg.InMemory {
			s.fs = vfs.NewMem()
		}
	}
	if cfg.LookOnly {
		return s.look()
	}
	err := s.open()
	if err == nil {
		return s, nil
	}
	if !disposable(err) {
		return nil, fmt.Errorf("open local store %s: %w", s.cfg.Dir, err)
	}
	aside := s.cfg.Dir + asideExt
	if err := s.setAside(aside); err != nil {
		return nil, fmt.Errorf("open local store %s: set the unusable one aside: %w", s.cfg.Dir, err)
	}
	s.warnings = append(s.warnings,
		fmt.Sprintf("local store %s could not be used (%v); it was moved to %s and "+
			"will be rebuilt from the log, nothing is lost", s.cfg.Dir, err, aside))
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open empty local store %s: %w", s.cfg.Dir, err)
	}
	return s, nil
}

// open opens what is in the directory and fails if it is not a store of this version.
func (s *Store) open() error {
	s.failure.Store(newFailure())
	s.damaged.Store(false)
	s.unmarked.Store(false)
	err := s.fs.MkdirAll(s.cfg.Dir, 0o700)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	lock, err := pebble.LockDirectory(s.cfg.Dir, s.fs)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", ErrFailed, err)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrLocked, err)
	}
	// Pebble keeps its own reference to the lock.
	defer func() { _ = lock.Close() }()
	if _, err := s.fs.Stat(s.fs.PathJoin(s.cfg.Dir, damageMark)); err == nil {
		return fmt.Errorf("%w: it was found damaged when it was last used", ErrDamaged)
	}
	cache := pebble.NewCache(memory)
	defer cache.Unref()
	disk := newOverlay(s.fs, s.fail)
	disk.givenUp.Store(s.cfg.LookOnly)
	opts := &pebble.Options{
		Cache: cache, FS: disk, Lock: lock, Logger: quiet{s},
		FormatMajorVersion: pebble.FormatNewest, Merger: adder,
		MemTableSize: memTableSize, MemTableStopWritesThreshold: 2,
		MaxOpenFiles: 256,
		// Rows are appended in a dozen places at once. Small tables that split where the level
		// below does, and rare compactions, keep a flush from rewriting what lies between; the
		// filters make the extra tables cheap to read.
		TargetFileSizes:       [7]int64{1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 2 << 20},
		FlushSplitBytes:       512 << 10,
		L0CompactionThreshold: 16, L0StopWritesThreshold: 40,
	}
	opts.DisableAutomaticCompactions = s.cfg.LookOnly // their output would lie in memory
	opts.EventListener = &pebble.EventListener{DataCorruption: s.corrupted}
	opts.EnsureDefaults()
	for i := range opts.Levels {
		// Lookups of absent ids that seen does not answer (it is not whole yet, or gave up) end at these filters.
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		opts.Levels[i].BlockSize = 8 << 10
		opts.Levels[i].IndexBlockSize = 128 << 10 // one block even for the largest table
	}
	db, err := pebble.Open(s.cfg.Dir, opts)
	if err == nil {
		var emptied bool
		if emptied, err = claim(db); emptied {
			when := ""
			if s.cfg.LookOnly {
				when = " at the next start"
			}
			s.warnings = append(s.warnings,
				fmt.Sprintf("local store %s was written by another version of pawl; it is rebuilt from the log%s, nothing is lost",
					s.cfg.Dir, when))
		}
		if err == nil {
			s.commits, err = counted(db)
		}
		if s.damaged.Load() {
			err = errors.Join(ErrDamaged, err)
		}
		if err != nil || s.Err() != nil {
			err = errors.Join(err, db.Close())
		}
	}
	if err := errors.Join(s.Err(), err); err != nil {
		return err
	}
	s.db, s.seen = db, newSeen(s.cfg.LookOnly)
	if !s.cfg.LookOnly {
		go s.collect(s.seen)
	}
	return nil
}

// leave ends the collection of ids and closes the database. The caller holds mu.
func (s *Store) leave() error {
	close(s.seen.ended)
	err := s.db.Close()
	s.db = nil
	return err
}

// claim checks that the database is one of ours, or makes an empty one ours. One that another version
// wrote is emptied, in one step: its rows mean something else, and the log has all that is in them.
func claim(db *pebble.DB) (emptied bool, err error) {
	got, done, err := db.Get(formatKey())
	if err == nil {
		same, ours := bytes.Equal(got, format()), len(got) == len(format())
		switch err := done.Close(); {
		case err != nil:
			return false, err
		case same:
			return false, nil
		case !ours:
			return false, errForeign
		}
		return true, empty(db)
	}
	if !errors.Is(err, pebble.ErrNotFound) {
		return false, err
	}
	it, err := db.NewIter(nil)
	if err != nil {
		return false, err
	}
	used := it.First()
	if err := it.Close(); err != nil {
		return false, err
	}
	if used {
		return false, errForeign
	}
	return false, db.Set(formatKey(), format(), pebble.Sync)
}

// empty removes every row, whatever version wrote it, and makes the database one of this version.
func empty(db *pebble.DB) error {
	all := db.NewBatch()
	err := errors.Join(
		all.DeleteRange([]byte{0}, []byte{0xff}, nil), // keys begin with a letter
		all.Set(formatKey(), format(), nil),
	)
	if err != nil {
		return errors.Join(err, all.Close())
	}
	return errors.Join(all.Commit(pebble.Sync), all.Close())
}

var errForeign = errors.New("another program wrote it")

// disposable reports whether opening again from nothing can help. What the operating system
// refuses (no space, no permission, a lock) would be refused again, and throwing the store away
// for it would only cost a replay.
func disposable(err error) bool {
	switch {
	case errors.Is(err, ErrDamaged):
		return true
	case errors.Is(err, ErrLocked), errors.Is(err, ErrFailed):
		return false
	}
	var sys syscall.Errno
	if errors.As(err, &sys) {
		return sys == syscall.ENOENT
	}
	return true
}

func (s *Store) setAside(to string) error {
	if err := s.fs.RemoveAll(to); err != nil {
		return err
	}
	return s.fs.Rename(s.cfg.Dir, to)
}

// Warnings says what Open had to do to start, for operators. Nil when nothing.
func (s *Store) Warnings() []string { return slices.Clone(s.warnings) }

// Reset drops everything: the store belongs to another log, or is damaged.
func (s *Store) Reset() error {
	s.committing.Lock()
	defer s.committing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return ErrClosed
	}
	// A damaged or failed database may not close cleanly; its files go either way.
	if err := s.leave(); err != nil {
		s.log.Warn("local store did not close cleanly before its reset", "dir", s.cfg.Dir, "error", err)
	}
	if err := s.fs.RemoveAll(s.cfg.Dir); err != nil {
		return fmt.Errorf("reset local store %s: %w", s.cfg.Dir, err)
	}
	clear(s.heads)
	if err := s.open(); err != nil {
		return fmt.Errorf("reset local store %s: %w", s.cfg.Dir, err)
	}
	return nil
}

// Close makes everything committed durable and ends all use; ErrFailed says that it could not, now or
// before. A second Close does nothing.
func (s *Store) Close() error {
	s.committing.Lock()
	defer s.committing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	var errs []error
	if s.Err() == nil {
		// The memtable is written out, so that a clean start replays neither it nor the log.
		errs = append(errs, s.db.Flush())
	}
	errs = append(errs, s.leave())
	err := errors.Join(errs...)
	if s.damaged.Load() && err != nil {
		s.log.Warn("damaged local store did not close cleanly", "dir", s.cfg.Dir, "error", err)
		err = nil // the next start does without it
	}
	if err := errors.Join(s.Err(), err); err != nil {
		return fmt.Errorf("close local store %s: %w", s.cfg.Dir, err)
	}
	return nil
}

// use returns the database for as long as the caller needs it; done must be called.
func (s *Store) use() (db *pebble.DB, done func(), err error) {
	s.mu.RLock()
	if s.db == nil {
		s.mu.RUnlock()
		return nil, nil, ErrClosed
	}
	return s.db, s.mu.RUnlock, nil
}
