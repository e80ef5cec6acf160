package store

import (
	"errors"
	"io"
	"maps"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// writing is a file that is written from its start to its end.
type writing struct {
	over    *overlay
	name    string
	disk    vfs.File // nil when the disk had been given up before
	content *content
}

// onDisk does it on the disk if that has the file and is not given up.
func (w *writing) onDisk(change func() error) bool { return w.disk != nil && w.over.onDisk(change) }

func (w *writing) Write(p []byte) (int, error) {
	written := 0
	if w.onDisk(func() (err error) {
		written, err = w.disk.Write(p)
		w.content.kept += int64(written)
		return err
	}) {
		return written, nil
	}
	w.over.mu.Lock()
	defer w.over.mu.Unlock()
	w.content.tail = append(w.content.tail, p[written:]...)
	return len(p), nil
}

func (w *writing) Sync() error {
	w.onDisk(func() error { return w.disk.Sync() })
	return nil
}

func (w *writing) SyncData() error {
	w.onDisk(func() error { return w.disk.SyncData() })
	return nil
}

func (w *writing) SyncTo(length int64) (full bool, err error) {
	w.onDisk(func() (err error) { full, err = w.disk.SyncTo(length); return err })
	return full, nil
}

// Preallocate may fail: it is a hint.
func (w *writing) Preallocate(offset, length int64) (err error) {
	w.onDisk(func() error { err = w.disk.Preallocate(offset, length); return nil })
	return err
}

func (w *writing) Close() error {
	if w.disk == nil {
		return nil
	}
	if w.over.onDisk(w.disk.Close) {
		w.over.mu.Lock()
		defer w.over.mu.Unlock()
		if !w.over.givenUp.Load() { // the disk has all of it, by whatever name
			maps.DeleteFunc(w.over.upper, func(_ string, c *content) bool { return c == w.content })
		}
		return nil
	}
	// Given up, before or by this: an error could say nothing new.
	_ = w.disk.Close()
	return nil
}

func (w *writing) Stat() (info vfs.FileInfo, err error) {
	if w.onDisk(func() error { info, err = w.disk.Stat(); return nil }) {
		return info, err
	}
	return w.over.Stat(w.name)
}

func (w *writing) Fd() uintptr {
	if w.disk == nil {
		return vfs.InvalidFd
	}
	return w.disk.Fd()
}

func (*writing) Prefetch(int64, int64) error        { return nil }
func (*writing) Read([]byte) (int, error)           { return 0, errors.ErrUnsupported }
func (*writing) ReadAt([]byte, int64) (int, error)  { return 0, errors.ErrUnsupported }
func (*writing) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }

// reading reads a file whose end lies in memory.
type reading struct {
	over    *overlay
	name    string
	disk    vfs.File // nil when all of it lies in memory
	content *content
	at      int64
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.ReadAt(p, r.at)
	r.at += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (r *reading) ReadAt(p []byte, offset int64) (n int, err error) {
	if below := r.content.kept - offset; below > 0 { // which nothing changes any more
		part := p[:min(int64(len(p)), below)]
		if n, err = r.disk.ReadAt(part, offset); n < len(part) {
			return n, err
		}
	}
	r.over.mu.Lock()
	defer r.over.mu.Unlock()
	if past := offset + int64(n) - r.content.kept; n < len(p) && past < int64(len(r.content.tail)) {
		n += copy(p[n:], r.content.tail[past:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (r *reading) Stat() (vfs.FileInfo, error) {
	r.over.mu.Lock()
	defer r.over.mu.Unlock()
	return fileInfo{r.over.PathBase(r.name), r.content.size()}, nil
}

func (r *reading) Close() error {
	if r.disk == nil {
		return nil
	}
	return r.disk.Close()
}

func (*reading) Fd() uintptr                        { return vfs.InvalidFd }
func (*reading) Prefetch(int64, int64) error        { return nil }
func (*reading) Write([]byte) (int, error)          { return 0, errors.ErrUnsupported }
func (*reading) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }
func (*reading) Preallocate(int64, int64) error     { return errors.ErrUnsupported }
func (*reading) Sync() error                        { return errors.ErrUnsupported }
func (*reading) SyncData() error                    { return errors.ErrUnsupported }
func (*reading) SyncTo(int64) (bool, error)         { return false, errors.ErrUnsupported }

// folder is a directory, opened to be synced.
type folder struct {
	vfs.File
	over *overlay
}

func (f *folder) Sync() error {
	f.over.onDisk(f.File.Sync)
	return nil
}

// fileInfo describes a file whose end lies in memory.
type fileInfo struct {
	name string
	size int64
}

func (i fileInfo) Name() string         { return i.name }
func (i fileInfo) Size() int64          { return i.size }
func (fileInfo) Mode() os.FileMode      { return 0o600 }
func (fileInfo) ModTime() time.Time     { return time.Time{} }
func (fileInfo) IsDir() bool            { return false }
func (fileInfo) Sys() any               { return nil }
func (fileInfo) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }
