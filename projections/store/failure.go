package store

import (
	"errors"
	"fmt"

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

func (s *Store) markDamaged() {
	f, err := s.fs.Create(s.fs.PathJoin(s.cfg.Dir, damageMark), vfs.WriteCategoryUnspecified)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		s.log.Error("damaged local store could not be marked; delete it by hand before the next start", "dir", s.cfg.Dir, "error", err)
	}
}

// corrupted is told of damage that reading met, in the background too: the next Open starts empty.
func (s *Store) corrupted(info pebble.DataCorruptionInfo) {
	s.markDamaged()
	s.fail(fmt.Errorf("%w: %s", ErrDamaged, info))
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

// fail ends all writing; the first cause is kept. The next commit, or Close, says so.
func (s *Store) fail(cause error) {
	err := fmt.Errorf("%w: %w", ErrFailed, cause)
	s.failure.CompareAndSwap(nil, &err)
}
