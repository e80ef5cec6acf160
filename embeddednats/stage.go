package embeddednats

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

// batchesDir is where the server stages the atomic batches of a stream of one replica, below the
// stream's own directory: a store of its own for each, which it makes, syncs and removes again.
const batchesDir = "batches"

// StageInMemory makes the server stage the atomic batches of a stream in the system's memory instead of
// in the data directory, which saves several syncs and removals for each batch. Nothing that was
// acknowledged is lost with that memory: it is in the stream. But where the power fails while a batch is being
// written, which was not acknowledged then, a part of it may be in the stream: the caller must accept or refuse each
// message by itself. A process that is killed loses nothing that was acknowledged either; the next server of the same
// user removes what it has left in memory.
//
// A second call makes the directory in memory again where the system has removed it.
//
// An error says why batches cannot be staged in memory here (errors.ErrUnsupported: on no machine with this operating
// system); the server works without it. Shutdown undoes it.
func (s *Server) StageInMemory(stream string) error {
	js := s.nats.JetStreamConfig()
	if js == nil {
		return fmt.Errorf("stage batches of stream %s in memory: %w", stream, server.ErrServerNotRunning)
	}
	store := js.StoreDir
	link := filepath.Join(store, server.DEFAULT_GLOBAL_ACCOUNT, "streams", stream, batchesDir)
	if _, err := os.Stat(filepath.Dir(link)); err != nil {
		return fmt.Errorf("stage batches of stream %s in memory: %w", stream, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.staged, link) {
		return s.restage(stream)
	}
	if err := s.stage(stream, link); err != nil {
		return fmt.Errorf("stage batches of stream %s in memory: %w", stream, err)
	}
	return nil
}

// stage makes the link. The caller locks.
func (s *Server) stage(stream, link string) error {
	if s.stageHome == "" {
		if err := s.openHome(); err != nil {
			return err
		}
	}
	if err := private(s.stageHome); err != nil {
		return err
	}
	staged := filepath.Join(s.stageHome, stream)
	if err := os.Mkdir(staged, 0o700); err != nil {
		return err
	}
	// An empty directory or an old link is removed; a directory with a batch in it stays.
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(staged, link); err != nil {
		return err
	}
	s.staged = append(s.staged, link)
	return nil
}

// Names in memory, which all users share. Each server has a directory of its own whose name cannot be foreseen.
const (
	homePrefix = "pawl-"
	homeLock   = "lock"
	// abandoned is the age at which a directory without a lock file belongs to no server that is just starting.
	abandoned = 24 * time.Hour
)

// openHome makes the server's directory in memory and holds its lock, and removes those of servers that were killed.
// The caller locks.
func (s *Server) openHome() error {
	memory, err := memoryDir()
	if err != nil {
		return err
	}
	own := homePrefix + strconv.Itoa(os.Getuid()) + "-"
	sweepHomes(memory, own)
	home, err := os.MkdirTemp(memory, own)
	if err != nil {
		return err
	}
	lock, err := lockHome(home)
	if err != nil {
		return errors.Join(err, os.RemoveAll(home))
	}
	s.stageHome, s.stageLock = home, lock
	return nil
}

// lockHome takes the lock that says that the directory is in use.
func lockHome(home string) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(home, homeLock), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", home, err)
	}
	if !ok {
		return nil, fmt.Errorf("lock %s: another server holds it", home)
	}
	return lock, nil
}

// sweepHomes removes this user's directories whose server is gone: the system has freed its lock. The next server on
// the same data has no need of what was staged there, since nothing of it was acknowledged. What cannot be removed
// does no harm: the next server tries again.
func sweepHomes(memory, prefix string) {
	entries, err := os.ReadDir(memory)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(memory, e.Name())
		if !strings.HasPrefix(e.Name(), prefix) || private(dir) != nil {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, homeLock)); err != nil {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
				_ = os.RemoveAll(dir)
			}
			continue
		}
		if lock, err := lockHome(dir); err == nil {
			_ = os.RemoveAll(dir)
			_ = lock.Unlock()
		}
	}
}

// restage makes the directory again that the link leads to, where the memory was cleaned: some systems do that when
// they log a user out. The caller locks.
func (s *Server) restage(stream string) error {
	if err := s.remake(filepath.Join(s.stageHome, stream)); err != nil {
		return fmt.Errorf("stage batches of stream %s in memory again: %w", stream, err)
	}
	return nil
}

// remake makes the directory and its home again as far as they are gone. Both must be this user's alone: meanwhile
// another user may have taken the name.
func (s *Server) remake(staged string) error {
	for _, dir := range []string{s.stageHome, staged} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := private(dir); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(filepath.Join(s.stageHome, homeLock)); err == nil {
		return nil
	}
	_ = s.stageLock.Unlock() // of a file that is gone
	lock, err := lockHome(s.stageHome)
	if err != nil {
		return err
	}
	s.stageLock = lock
	return nil
}

// unstage removes what StageInMemory has made, once the server has ended. What cannot be removed does no
// harm: the next server does it.
func (s *Server) unstage() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, link := range s.staged {
		_ = os.Remove(link)
	}
	if s.stageHome != "" {
		_ = os.RemoveAll(s.stageHome)
		_ = s.stageLock.Unlock()
	}
}
