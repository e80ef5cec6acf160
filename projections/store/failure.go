package store

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// fault names the store in an error and remembers damage across restarts.
func (s *Store) fault(doing string, err error) error {
	if pebble.IsCorruptionError(err) && !errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if errors.Is(err, ErrDamaged) {
		s.markDamaged()
	}
	return fmt.Errorf("%s in local store %s: %w", doing, s.cfg.Dir, err)
}

// markDamaged keeps the next Open from trusting the store. Each read that meets the damage tries again, since the disk
// may be full only now. A mark that cannot be made is logged once.
func (s *Store) markDamaged() {
	if s.cfg.LookOnly {
		return
	}
	f, err := s.fs.Create(s.fs.PathJoin(s.cfg.Dir, damageMark), vfs.WriteCategoryUnspecified)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !s.unmarked.Swap(true) {
		s.log.Error("damaged local store could not be marked; delete it by hand before the next start", "dir", s.cfg.Dir,
			"error", err)
	}
}

// corrupted is told of damage that reading met, in the background too. What is not damaged goes on
// being of use; the next Open starts empty.
func (s *Store) corrupted(info pebble.DataCorruptionInfo) {
	if s.damaged.Swap(true) {
		return
	}
	s.markDamaged()
	s.log.Error("local store is damaged; the next start rebuilds it from the log, nothing is lost", "file", info.Path,
		"error", fmt.Sprint(info.Details))
}

// quiet is the database's logger: it keeps what is fatal to the database and drops the rest.
type quiet struct{ s *Store }

func (quiet) Infof(string, ...any) {}

func (q quiet) Errorf(format string, args ...any) {
	q.s.log.Warn("local store: "+fmt.Sprintf(format, args...), "dir", q.s.cfg.Dir)
}

// Fatalf must not end the process: the store is disposable, and calls may be waiting for their
// settlement to be recorded.
func (q quiet) Fatalf(format string, args ...any) { q.s.fail(fmt.Errorf(format, args...)) }

// failure is the end of all writing.
type failure struct {
	once  sync.Once
	ended chan struct{}
	err   error // set before ended is closed
}

func newFailure() *failure { return &failure{ended: make(chan struct{})} }

// fail ends all writing; the first cause is kept.
func (s *Store) fail(cause error) {
	f := s.failure.Load()
	f.once.Do(func() {
		f.err = fmt.Errorf("%w: %w", ErrFailed, cause)
		close(f.ended)
	})
}

// Failed is closed once the store takes no more commits; Err then says why. It is that of what is open
// now: Reset begins anew.
func (s *Store) Failed() <-chan struct{} { return s.failure.Load().ended }

// Err is ErrFailed with its cause once the store takes no more commits, nil before.
func (s *Store) Err() error {
	f := s.failure.Load()
	select {
	case <-f.ended:
		return f.err
	default:
		return nil
	}
}
