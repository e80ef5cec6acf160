package embeddednats

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// batchesDir is where the server stages the atomic batches of a stream of one replica, below the
// stream's own directory: a store of its own for each, which it makes, syncs and removes again.
const batchesDir = "batches"

// StageInMemory makes the server stage the atomic batches of a stream in the system's memory instead of
// in the data directory, which takes several syncs and removals from each batch. Nothing that was
// acknowledged is there: that is in the stream. But where the power fails while a batch is written, which
// nobody was told of, a part of it may be in the stream: whoever asks for this must take each message for
// itself. A process that is killed loses nothing, the next one on the same directory finds it again.
//
// Asked again it makes again what somebody has cleaned from the memory.
//
// An error says why this cannot be had here (errors.ErrUnsupported: nowhere on this system); all works
// without it. Shutdown undoes it.
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
	if err := s.stage(store, stream, link); err != nil {
		return fmt.Errorf("stage batches of stream %s in memory: %w", stream, err)
	}
	return nil
}

// stage makes the link. The caller locks.
func (s *Server) stage(store, stream, link string) error {
	memory, err := memoryDir()
	if err != nil {
		return err
	}
	own, err := identity(store)
	if err != nil {
		return err
	}
	// The same name again after a crash: what was staged then is of use to the next server.
	name := sha256.Sum256([]byte(own))
	home := filepath.Join(memory, "pawl-"+strconv.Itoa(os.Getuid())+"-"+hex.EncodeToString(name[:8]))
	if err := os.Mkdir(home, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// Everyone may make names there: what is not ours alone might be a trap.
	if err := private(home); err != nil {
		return err
	}
	staged := filepath.Join(home, stream)
	if err := os.RemoveAll(staged); err != nil { // of an earlier process: the server has looked at it at its start
		return err
	}
	if err := os.Mkdir(staged, 0o700); err != nil {
		return err
	}
	// An empty directory or an old link; one with a batch in it stays.
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(staged, link); err != nil {
		return err
	}
	s.staged = append(s.staged, link)
	s.stageHome = home
	return nil
}

// restage makes what the link leads to again where somebody has cleaned the memory, as a system does that
// logs a user out. The caller locks.
func (s *Server) restage(stream string) error {
	staged := filepath.Join(s.stageHome, stream)
	for _, dir := range []string{s.stageHome, staged} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("stage batches of stream %s in memory again: %w", stream, err)
		}
		if err := private(dir); err != nil {
			return fmt.Errorf("stage batches of stream %s in memory again: %w", stream, err)
		}
	}
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
	}
}
