package store

import (
	"errors"
	"fmt"
	"io/fs"
)

// look opens the store of a Config with LookOnly. The overlay takes all writes from the start, as if the disk had
// refused the first one.
func (s *Store) look() (*Store, error) {
	_, err := s.fs.Stat(s.cfg.Dir)
	missing := errors.Is(err, fs.ErrNotExist)
	if !missing {
		if err = s.open(); err == nil {
			return s, nil
		}
		if !disposable(err) {
			return nil, fmt.Errorf("look at local store %s: %w", s.cfg.Dir, err)
		}
	}
	empty, failed := Open(Config{InMemory: true, Logger: s.cfg.Logger})
	if failed == nil && !missing {
		empty.warnings = []string{fmt.Sprintf("local store %s cannot be used (%v) and was not looked at; "+
			"the next start rebuilds it from the log, nothing is lost", s.cfg.Dir, err)}
	}
	return empty, failed
}
