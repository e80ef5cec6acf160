package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// The bounds of one file: with the oldest file the oldest recordings go.
const (
	maxFileRuns  = 500
	maxFileBytes = 8 << 20
)

// maxRecording bounds one recording, in bytes; a larger one is left out.
const maxRecording = 4 << 20

// maxWaiting bounds the recordings that wait to be written; what is more is left out.
const maxWaiting = 1000

// Store keeps recordings in files, a folder for each workflow. Its methods are safe for concurrent use.
type Store struct {
	dir    string
	keep   map[eventlog.WorkflowName]Keep
	logger *slog.Logger

	queue chan entry
	done  chan struct{}

	mu     sync.Mutex // files are changed under it
	closed bool
	open   map[eventlog.WorkflowName]*file
}

// entry is a recording on its way; flushed is closed once all before it are written.
type entry struct {
	workflow eventlog.WorkflowName
	line     []byte
	flushed  chan struct{}
}

// file is the newest file of a workflow.
type file struct {
	number, runs int
	bytes        int64
}

// Open opens the folder, or makes it, and keeps of each workflow what is named. Other workflows are not recorded.
func Open(dir string, keep map[eventlog.WorkflowName]Keep, logger *slog.Logger) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of recordings: %w", err)
	}
	s := &Store{dir: dir, keep: keep, logger: logger, queue: make(chan entry, maxWaiting), done: make(chan struct{}),
		open: map[eventlog.WorkflowName]*file{}}
	go s.write()
	return s, nil
}

// Records reports whether the workflow is recorded; never by a nil store.
func (s *Store) Records(w eventlog.WorkflowName) bool {
	if s == nil {
		return false
	}
	_, ok := s.keep[w]
	return ok
}

// Add takes a recording. It does not wait for the disk.
func (s *Store) Add(w eventlog.WorkflowName, r Recording) {
	line, err := json.Marshal(r)
	switch {
	case err != nil:
		s.logger.Warn("a run was not recorded", "workflow", w, "run", r.Run, "error", err)
		return
	case len(line) > maxRecording:
		s.logger.Warn("a run was not recorded: it was given too much", "workflow", w, "run", r.Run, "bytes", len(line))
		return
	}
	select {
	case s.queue <- entry{workflow: w, line: append(line, '\n')}:
	case <-s.done:
	default:
		s.logger.Warn("a run was not recorded: the disk is too slow", "workflow", w, "run", r.Run)
	}
}

// write writes what is taken, until Close.
func (s *Store) write() {
	defer close(s.done)
	for e := range s.queue {
		if e.flushed != nil {
			close(e.flushed)
			continue
		}
		s.mu.Lock()
		if err := s.append(e); err != nil {
			s.logger.Warn("a run was not recorded", "workflow", e.workflow, "error", err)
		}
		s.mu.Unlock()
	}
}

// append writes one line into the newest file, and forgets the oldest that are too many. Under mu.
func (s *Store) append(e entry) error {
	folder := s.folder(e.workflow)
	newest := s.open[e.workflow]
	if newest == nil {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		numbers, err := files(folder)
		if err != nil {
			return err
		}
		newest = &file{number: 1, runs: maxFileRuns} // what an earlier process wrote is left as it is
		if len(numbers) > 0 {
			newest.number = numbers[len(numbers)-1]
		}
	}
	if newest.runs >= maxFileRuns || newest.bytes >= maxFileBytes {
		newest = &file{number: newest.number + 1}
		if err := s.forget(e.workflow); err != nil {
			return err
		}
	}
	s.open[e.workflow] = newest
	out, err := os.OpenFile(path(folder, newest.number), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(e.line)
	newest.runs++
	newest.bytes += int64(len(e.line))
	return errors.Join(err, out.Close())
}

// forget removes the oldest files of which nothing has to be kept: the others hold enough. Under mu.
func (s *Store) forget(w eventlog.WorkflowName) error {
	folder, keep := s.folder(w), s.keep[w]
	numbers, err := files(folder)
	if err != nil {
		return err
	}
	runs, size := 0, int64(0)
	for _, number := range slices.Backward(numbers) {
		text, err := os.ReadFile(path(folder, number))
		if err != nil {
			return err
		}
		info, err := os.Stat(path(folder, number))
		if err != nil {
			return err
		}
		old := keep.For > 0 && time.Since(info.ModTime()) > keep.For
		if old || keep.Runs > 0 && runs >= keep.Runs || keep.Bytes > 0 && size+int64(len(text)) > keep.Bytes {
			if err := os.Remove(path(folder, number)); err != nil {
				return err
			}
			continue
		}
		runs += bytes.Count(text, []byte("\n"))
		size += int64(len(text))
	}
	return nil
}

// Newest yields the recordings of a workflow, the newest first, as far as they are kept. One that cannot be read is
// passed over: a torn last line of a process that was killed.
func (s *Store) Newest(w eventlog.WorkflowName) iter.Seq2[Recording, error] {
	return func(yield func(Recording, error) bool) {
		s.flush()
		s.mu.Lock()
		folder := s.folder(w)
		numbers, err := files(folder)
		s.mu.Unlock()
		if err != nil {
			yield(Recording{}, fmt.Errorf("list the recordings of %s: %w", w, err))
			return
		}
		left := s.keep[w].Runs
		for _, number := range slices.Backward(numbers) {
			lines, err := readLines(path(folder, number))
			if errors.Is(err, fs.ErrNotExist) {
				continue // it was forgotten meanwhile
			}
			if err != nil {
				yield(Recording{}, fmt.Errorf("read the recordings of %s: %w", w, err))
				return
			}
			for _, line := range slices.Backward(lines) {
				var r Recording
				if json.Unmarshal(line, &r) != nil {
					continue
				}
				if !yield(r, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
		}
	}
}

// flush returns once all that was taken before is written.
func (s *Store) flush() {
	written := make(chan struct{})
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return
	}
	select {
	case s.queue <- entry{flushed: written}:
		<-written
	case <-s.done:
	}
}

// Close writes what is taken. Nothing may be added any more.
func (s *Store) Close() error {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	if !already {
		close(s.queue)
	}
	<-s.done
	return nil
}

func (s *Store) folder(w eventlog.WorkflowName) string { return filepath.Join(s.dir, string(w)) }

func path(folder string, number int) string {
	return filepath.Join(folder, fmt.Sprintf("%08d.jsonl", number))
}

// files are the numbers of a folder's files, the oldest first; none for a folder that is not there.
func files(folder string) (numbers []int, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".jsonl"); ok {
			if number, err := strconv.Atoi(name); err == nil {
				numbers = append(numbers, number)
			}
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// readLines are the lines of a file, without their ends.
func readLines(path string) (lines [][]byte, err error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	reader := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			lines = append(lines, bytes.TrimSuffix(line, []byte("\n")))
		}
		switch {
		case errors.Is(err, io.EOF):
			return lines, nil
		case err != nil:
			return nil, err
		}
	}
}
