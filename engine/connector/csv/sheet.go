package csv

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/confined"
	"github.com/pawl-run/pawl/eventlog"
)

// sheet is one file name. Only the call that has the file alone uses it.
type sheet struct {
	// index is what is known about the file, or nil.
	index *index
}

// index is what a file held when it was last looked at.
type index struct {
	// info identifies that state: the same file, size and modification time.
	info   os.FileInfo
	layout layout
	// rows counts the records below the header, empty lines left out.
	rows int64
	// keys holds the row number by the hash of the row's key. A hit is verified in the file.
	keys map[uint64]int64
	// tail is where the last record begins if it has no line end, else -1.
	tail      int64
	openQuote bool
	// foreign is the first row that is not UTF-8 text (0 is the header), -1 if all are.
	foreign int64
}

var keySeed = maphash.MakeSeed()

func hashKey(key string) uint64 { return maphash.String(keySeed, key) }

// ownersAlone is the mode of new files: their owner alone can read what rows hold.
const ownersAlone = 0o600

// openFile is a file whose lock is held.
type openFile struct {
	*os.File
	name    string
	dir     *confined.Dir
	release func()
}

// Close closes the file, and with it ends its locks.
func (f *openFile) Close() error {
	defer f.release()
	return f.File.Close()
}

// openLocked waits for a file and opens it: to change it alone, or to read it beside other reads.
func (c *Connector) openLocked(ctx context.Context, call connector.Call, name string, alone bool) (*openFile,
	*eventlog.Failure) {
	release, failure := c.locks.take(ctx, call, name, alone)
	if failure != nil {
		return nil, failure
	}
	file, failure := lockedAmongProcesses(ctx, c.dir, name, alone)
	if failure != nil {
		release()
		return nil, failure
	}
	return &openFile{File: file, name: name, dir: c.dir, release: release}, nil
}

// lockedAmongProcesses opens and locks a file by its name. A file that was replaced meanwhile (an editor
// saves like that) is opened again: what is locked is what the name stands for.
func lockedAmongProcesses(ctx context.Context, dir *confined.Dir, name string, exclusive bool) (*os.File,
	*eventlog.Failure) {
	flag := os.O_RDONLY
	if exclusive {
		flag = os.O_RDWR | os.O_APPEND
	}
	for {
		file, failure := dir.OpenRegular(name, flag)
		if failure != nil {
			return nil, failure
		}
		if err := confined.Lock(ctx, file, exclusive); err != nil {
			file.Close()
			if ctx.Err() != nil {
				return nil, dir.Fail(eventlog.Transient, "locked", "%s is in use by another process", name)
			}
			return nil, dir.Failure("lock", name, err)
		}
		opened, err := file.Stat()
		if err != nil {
			file.Close()
			return nil, dir.Failure("look at", name, err)
		}
		now, err := dir.Root.Stat(name)
		if err == nil && os.SameFile(opened, now) {
			return file, nil
		}
		file.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, dir.Failure("look at", name, err)
		}
	}
}

// look returns the index of the file as it is now, reading the file only if it changed.
func (s *sheet) look(f *openFile) (*index, *eventlog.Failure) {
	info, err := f.Stat()
	if err != nil {
		return nil, f.dir.Failure("look at", f.name, err)
	}
	if s.index.of(info) {
		return s.index, nil
	}
	s.index = nil
	x, failure := readIndex(f, info)
	if failure != nil {
		return nil, failure
	}
	s.index = x
	return x, nil
}

// of says whether x is the index of a file in this state. A nil index is none.
func (x *index) of(info os.FileInfo) bool {
	return x != nil && os.SameFile(x.info, info) && x.info.Size() == info.Size() &&
		x.info.ModTime().Equal(info.ModTime())
}

func readIndex(f *openFile, info os.FileInfo) (*index, *eventlog.Failure) {
	x := &index{info: info, keys: make(map[uint64]int64), tail: -1, foreign: -1}
	err := scanRows(io.NewSectionReader(f, 0, info.Size()), func(l layout, r record, row int64) bool {
		x.layout = l
		if !r.terminated {
			x.tail, x.openQuote = r.start, r.openQuote
		}
		if x.foreign < 0 && !utf8.Valid(r.raw) {
			x.foreign = row
		}
		if row == 0 {
			return true
		}
		x.rows = row
		// A record without its line end is not finished, so its key does not count.
		if r.terminated && l.key >= 0 {
			if key, ok := cellAt(r.raw, l.comma, l.key); ok && len(key) > 0 {
				if hash := maphash.Bytes(keySeed, key); x.keys[hash] == 0 {
					x.keys[hash] = row
				}
			}
		}
		return true
	})
	if err != nil {
		return nil, scanFailure(f, err)
	}
	if x.layout.header == nil {
		return nil, f.dir.Fail(eventlog.Precondition, "empty", "%s is empty: it needs a header line with a column %s",
			f.name, keyColumn)
	}
	return x, nil
}

// scanRows calls visit for the header (row 0) and every record that is no empty line (row 1, 2, …)
// until visit answers false.
func scanRows(in io.Reader, visit func(l layout, r record, row int64) bool) error {
	s := newScanner(in, ',')
	s.skipByteOrderMark()
	var l layout
	row := int64(0)
	for {
		r, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(trimLineEnd(r.raw)) == 0 && r.terminated {
			continue
		}
		if l.header == nil {
			l = detect(r.raw)
			s.comma = l.comma
		} else {
			row++
		}
		if !visit(l, r, row) {
			return nil
		}
	}
}

func scanFailure(f *openFile, err error) *eventlog.Failure {
	if errors.Is(err, errRecordTooBig) {
		return f.dir.Fail(eventlog.Precondition, "malformed", "%s: %v", f.name, err)
	}
	return f.dir.Failure("read", f.name, err)
}

// find returns the number of the row with exactly this key, 0 if there is none. Only a key whose
// hash is known makes it read the file.
func (x *index) find(f *openFile, key string) (int64, *eventlog.Failure) {
	if x.keys[hashKey(key)] == 0 {
		return 0, nil
	}
	found := int64(0)
	err := scanRows(io.NewSectionReader(f, 0, x.info.Size()), func(l layout, r record, row int64) bool {
		if row > 0 && r.terminated && l.key >= 0 {
			if cell, ok := cellAt(r.raw, l.comma, l.key); ok && string(cell) == key {
				found = row
			}
		}
		return found == 0
	})
	if err != nil {
		return 0, scanFailure(f, err)
	}
	return found, nil
}

// checkKeyColumn says why rows cannot be written, or nil.
func (x *index) checkKeyColumn(f *openFile) *eventlog.Failure {
	switch {
	case x.layout.key >= 0:
		return nil
	case x.foreign == 0:
		return x.checkText(f) // it may well have the column, in an encoding that cannot be read
	}
	return f.dir.Fail(eventlog.Precondition, "keyColumn",
		"%s has no column %s, which holds the key of each row pawl writes: add it to the end of the header line (its "+
			"columns: %v)",
		f.name, keyColumn, slices.Clip(x.layout.header))
}

// checkText says why no row may stand beside those of the file, or nil: UTF-8 among other text would
// make a file that no program reads right.
func (x *index) checkText(f *openFile) *eventlog.Failure {
	if x.foreign < 0 {
		return nil
	}
	return notText(f, x.foreign)
}

func notText(f *openFile, row int64) *eventlog.Failure {
	return f.dir.Fail(eventlog.Precondition, "encoding", "%s of %s is not UTF-8 text: save the file as CSV in UTF-8",
		rowName(row), f.name)
}

func rowName(row int64) string {
	if row == 0 {
		return "the header"
	}
	return fmt.Sprintf("row %d", row)
}
