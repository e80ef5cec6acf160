package store

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// overlay is the disk until a change of it fails, for whatever reason. From then on the disk stays as it is, as after a
// crash at that moment, and what is written lies in memory over it.
//
// The database knows no full disk: it tries a failed flush again without pause, for ever, makes
// commits wait for it, and panics with its locks held when it cannot go on with another log. Under
// an overlay it never meets one. What has been committed stays readable, background work comes to
// its end, Close closes, and the next Open finds what a crash would have left. Only the
// store's commits write to it, and they end with the failure, so its memory is bounded.
type overlay struct {
	vfs.FS // the disk
	// failed is told why the disk was given up, once.
	failed func(error)

	// changing is held shared while the disk is changed: once it is given up, nothing touches it any more.
	changing sync.RWMutex
	givenUp  atomic.Bool

	// mu guards upper and the tails in it. It is never held while the disk is waited for.
	mu sync.Mutex
	// upper has the files that are not, or not wholly, on the disk; nil is a file that was removed
	// after the disk was given up. Until then it has those that are open for writing.
	upper map[string]*content
}

func newOverlay(disk vfs.FS, failed func(error)) *overlay {
	return &overlay{FS: disk, failed: failed, upper: map[string]*content{}}
}

// content is what a file consists of: the first kept bytes of the file on the disk named below, then
// tail.
type content struct {
	below string
	kept  int64
	tail  []byte
}

func (c *content) size() int64 { return c.kept + int64(len(c.tail)) }

// onDisk changes the disk, unless it has been given up. It reports whether that was done; if not,
// the change must be made in memory.
func (o *overlay) onDisk(change func() error) bool {
	o.changing.RLock()
	if o.givenUp.Load() {
		o.changing.RUnlock()
		return false
	}
	err := change()
	o.changing.RUnlock()
	if err != nil {
		o.giveUp(err)
	}
	return err == nil
}

func (o *overlay) giveUp(err error) {
	o.changing.Lock()
	first := !o.givenUp.Swap(true)
	o.changing.Unlock()
	if first {
		o.failed(err)
	}
}

// found returns the upper file; ok is false when the disk has it, if there is one.
func (o *overlay) found(name string) (c *content, ok bool) {
	if !o.givenUp.Load() {
		return nil, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	c, ok = o.upper[name]
	return c, ok
}

func (o *overlay) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return o.write(name, func() (vfs.File, error) { return o.FS.Create(name, category) })
}

func (o *overlay) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := o.write(name, func() (vfs.File, error) { return o.FS.ReuseForWrite(old, name, category) })
	o.mu.Lock()
	if o.givenUp.Load() && f.(*writing).disk == nil {
		o.upper[old] = nil
	}
	o.mu.Unlock()
	return f, err
}

// write opens a file for writing from its start. It never fails.
func (o *overlay) write(name string, open func() (vfs.File, error)) (vfs.File, error) {
	w := &writing{over: o, name: name, content: &content{}}
	if o.onDisk(func() (err error) { w.disk, err = open(); return err }) {
		w.content.below = name
	} else {
		w.disk = nil
	}
	o.mu.Lock()
	o.upper[name] = w.content
	o.mu.Unlock()
	return w, nil
}

func (o *overlay) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	c, ok := o.found(name)
	switch {
	case !ok:
		return o.FS.Open(name, opts...)
	case c == nil:
		return nil, missing("open", name)
	}
	r := &reading{over: o, name: name, content: c}
	if c.kept > 0 {
		var err error
		if r.disk, err = o.FS.Open(c.below, opts...); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (o *overlay) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, &fs.PathError{Op: "open for reading and writing", Path: name, Err: errors.ErrUnsupported}
}

func (o *overlay) OpenDir(name string) (vfs.File, error) {
	f, err := o.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &folder{File: f, over: o}, nil
}

// Remove is no write: the database lives with files that stay, and says so.
func (o *overlay) Remove(name string) error {
	var err error
	if o.onDisk(func() error { err = o.FS.Remove(name); return nil }) {
		return err
	}
	if _, err := o.Stat(name); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.upper[name] = nil
	return nil
}

func (o *overlay) RemoveAll(name string) error {
	return &fs.PathError{Op: "remove all", Path: name, Err: errors.ErrUnsupported}
}

func (o *overlay) MkdirAll(dir string, perm os.FileMode) error {
	o.onDisk(func() error { return o.FS.MkdirAll(dir, perm) })
	return nil
}

func (o *overlay) Rename(old, name string) error {
	if o.onDisk(func() error {
		if err := o.FS.Rename(old, name); err != nil {
			return err
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if c, ok := o.upper[old]; ok { // open for writing
			c.below = name
			o.upper[name] = c
			delete(o.upper, old)
		}
		return nil
	}) {
		return nil
	}
	return o.link(old, name, true)
}

func (o *overlay) Link(old, name string) error {
	if o.onDisk(func() error { return o.FS.Link(old, name) }) {
		return nil
	}
	return o.link(old, name, false)
}

// link gives a file a name in memory, besides or in place of its old one.
func (o *overlay) link(old, name string, moved bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, ok := o.upper[old]
	switch {
	case ok && c == nil:
		return missing("rename", old)
	case !ok:
		info, err := o.FS.Stat(old)
		if err != nil {
			return err
		}
		c = &content{below: old, kept: info.Size()}
	}
	o.upper[name] = c
	if moved {
		o.upper[old] = nil
	}
	return nil
}

func (o *overlay) List(dir string) ([]string, error) {
	names, err := o.FS.List(dir)
	if err != nil {
		return nil, err
	}
	if !o.givenUp.Load() {
		return names, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, c := range o.upper {
		base := o.PathBase(name)
		if o.PathJoin(dir, base) != name {
			continue
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == base })
		if c != nil {
			names = append(names, base)
		}
	}
	return names, nil
}

func (o *overlay) Stat(name string) (vfs.FileInfo, error) {
	c, ok := o.found(name)
	switch {
	case !ok:
		return o.FS.Stat(name)
	case c == nil:
		return nil, missing("stat", name)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return fileInfo{o.PathBase(name), c.size()}, nil
}

func (o *overlay) Unwrap() vfs.FS { return o.FS }

func missing(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}
