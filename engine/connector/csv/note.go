package csv

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/pawl-run/pawl/eventlog"
)

// The note says what is about to be appended to a file, and where: `<offset> <length>\n` and the
// bytes. It is written before the append, under the file's lock. After a process has died inside
// its append, the next one can tell the torn piece from a line that a person left unfinished. It is
// not synced: a dead process loses nothing of it, and after a power loss an unfinished line is
// completed, never merged.

// maxNote bounds the note that is read back.
const maxNote = maxRecord + 64

// noteName is the note's file beside name.
func noteName(name string) string {
	return filepath.Join(filepath.Dir(name), ".pawl-"+filepath.Base(name))
}

// openNote opens the file's note. What stands in its place and is no regular file is neither followed nor waited for:
// a link could lead to another sheet, and a pipe would hold the sheet's lock without end.
func openNote(f *openFile, flag int) (*os.File, *eventlog.Failure) {
	name := noteName(f.name)
	info, err := f.dir.Root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		return nil, f.dir.Fail(eventlog.Precondition, "notRegular", "%s is not a regular file: remove it", name)
	}
	file, err := f.dir.Root.OpenFile(name, flag|syscall.O_NONBLOCK, ownersAlone)
	if err != nil {
		return nil, f.dir.Failure("open", name, err)
	}
	return file, nil
}

// writeNote replaces the file's note.
func writeNote(f *openFile, offset int64, row []byte) *eventlog.Failure {
	name := noteName(f.name)
	file, failure := openNote(f, os.O_WRONLY|os.O_CREATE)
	if failure != nil {
		return failure
	}
	// A note of an earlier version could be read by others.
	if info, err := file.Stat(); err == nil && info.Mode().Perm() != ownersAlone {
		_ = file.Chmod(ownersAlone) // one of another owner cannot be changed, and is written as it is
	}
	note := strconv.AppendInt(nil, offset, 10)
	note = append(note, ' ')
	note = strconv.AppendInt(note, int64(len(row)), 10)
	note = append(note, '\n')
	note = append(note, row...)
	// What an older, longer note leaves behind the new one is beyond the length it names.
	if _, err := file.WriteAt(note, 0); err != nil {
		file.Close()
		return f.dir.Failure("write", name, err)
	}
	if err := file.Close(); err != nil {
		return f.dir.Failure("close", name, err)
	}
	return nil
}

// readNote returns the file's note; ok is false if there is none that can be read.
func readNote(f *openFile) (offset int64, row []byte, ok bool, failure *eventlog.Failure) {
	name := noteName(f.name)
	if _, err := f.dir.Root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return 0, nil, false, nil
	}
	data, failure := openNote(f, os.O_RDONLY)
	if failure != nil {
		return 0, nil, false, failure
	}
	defer data.Close()
	text, err := io.ReadAll(io.LimitReader(data, maxNote))
	if err != nil {
		return 0, nil, false, f.dir.Failure("read", name, err)
	}
	head, rest, found := bytes.Cut(text, []byte("\n"))
	first, second, two := bytes.Cut(head, []byte(" "))
	offset, err1 := strconv.ParseInt(string(first), 10, 64)
	length, err2 := strconv.ParseInt(string(second), 10, 64)
	if !found || !two || err1 != nil || err2 != nil || offset < 0 || length < 0 || length > int64(len(rest)) {
		return 0, nil, false, nil // torn itself: it says nothing
	}
	return offset, rest[:length], true, nil
}

// tornAt returns where the piece begins that a noted append left behind, or -1 if the file's end is
// not such a piece. expected, if not nil, is a row that counts like a noted one at the file's last record.
func (x *index) tornAt(f *openFile, expected []byte) (int64, *eventlog.Failure) {
	if x.tail < 0 {
		return -1, nil
	}
	size := x.info.Size()
	offset, row, ok, failure := readNote(f)
	if failure != nil {
		return -1, failure
	}
	if ok && offset < size && size-offset < int64(len(row)) {
		torn, failure := isPrefix(f, offset, size, row)
		if failure != nil {
			return -1, failure
		}
		if torn {
			return offset, nil
		}
	}
	if expected != nil && size-x.tail < int64(len(expected)) {
		torn, failure := isPrefix(f, x.tail, size, expected)
		if failure != nil {
			return -1, failure
		}
		if torn {
			return x.tail, nil
		}
	}
	return -1, nil
}

// isPrefix says whether the file's bytes in [from, to) are the beginning of row. After a power loss the last of them
// may be NUL, written nowhere else.
func isPrefix(f *openFile, from, to int64, row []byte) (bool, *eventlog.Failure) {
	piece := make([]byte, to-from)
	if _, err := f.ReadAt(piece, from); err != nil {
		return false, f.dir.Failure("read", f.name, err)
	}
	return bytes.HasPrefix(row, bytes.TrimRight(piece, "\x00")), nil
}
