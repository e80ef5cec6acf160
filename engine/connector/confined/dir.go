package confined

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// Dir is an opened folder. It is safe for concurrent use.
type Dir struct {
	// Root is the folder; names given to it must have passed Clean.
	Root *os.Root
	// prefix begins every failure code: the connector's name.
	prefix string
	// escapes is the error os.Root answers for a path that leaves it: unexported there, so it
	// is provoked once to be recognised by identity and not by its text.
	escapes error
}

// Open opens the folder for the connector named prefix. An error is a *connector.SettingError of the
// key `connectors.<prefix>.root`.
func Open(prefix, path string) (*Dir, error) {
	key := "connectors." + prefix + ".root"
	wrong := func(format string, args ...any) error {
		return &connector.SettingError{Key: key, Err: fmt.Errorf(key+format, args...)}
	}
	if path == "" {
		return nil, wrong(" is missing: name the folder that the %s connector may use", prefix)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, wrong(": the folder %s does not exist: create it or correct the path", path)
	case err != nil:
		return nil, wrong(": open folder: %w", err)
	case !info.IsDir():
		return nil, wrong(": %s is not a folder", path)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, wrong(": open folder: %w", err)
	}
	_, provoked := root.Stat("..")
	var pathError *fs.PathError
	if !errors.As(provoked, &pathError) {
		root.Close()
		return nil, wrong(": %s cannot be confined on this system", path)
	}
	return &Dir{Root: root, prefix: prefix, escapes: pathError.Err}, nil
}

// Close releases the folder.
func (d *Dir) Close() error { return d.Root.Close() }

// Clean returns a script's path in its shortest form, or why it may not be used. Paths are relative
// to the folder and use forward slashes; names that begin with `.pawl` are Pawl's own.
func (d *Dir) Clean(name string) (string, *eventlog.Failure) {
	if name == "" || strings.ContainsRune(name, 0) {
		return "", d.Fail(eventlog.Logic, "path", "the path %q is not usable: it is empty or has a NUL character", name)
	}
	local := filepath.FromSlash(name)
	if !filepath.IsLocal(local) {
		return "", d.Fail(eventlog.Logic, "outside",
			"the path %q leads outside of the connector's folder; use a path relative to it", name)
	}
	local = filepath.Clean(local)
	for part := range strings.SplitSeq(filepath.ToSlash(local), "/") {
		if strings.HasPrefix(part, ".pawl") {
			return "", d.Fail(eventlog.Logic, "reserved",
				"the path %q is not usable: names that begin with .pawl belong to pawl", name)
		}
	}
	return local, nil
}

// OpenRegular opens a regular file. It neither waits for a pipe's other end nor opens a device.
func (d *Dir) OpenRegular(name string, flag int) (*os.File, *eventlog.Failure) {
	file, err := d.Root.OpenFile(name, flag|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, d.Failure("open", name, err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, d.Failure("look at", name, err)
	}
	if !info.Mode().IsRegular() {
		file.Close()
		return nil, d.Fail(eventlog.Precondition, "notRegular", "%s is not a regular file", name)
	}
	return file, nil
}

// Read reads a whole regular file of at most limit bytes.
func (d *Dir) Read(name string, limit int64) ([]byte, *eventlog.Failure) {
	file, failure := d.OpenRegular(name, os.O_RDONLY)
	if failure != nil {
		return nil, failure
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, d.Failure("read", name, err)
	}
	if int64(len(data)) > limit {
		return nil, d.Fail(eventlog.Precondition, "tooBig", "%s has more than %d bytes, the limit for one read", name,
			limit)
	}
	return data, nil
}

// MakeFolders makes the folders above a file, each of them durable.
func (d *Dir) MakeFolders(name string) *eventlog.Failure {
	folder := filepath.Dir(name)
	if folder == "." {
		return nil
	}
	if err := d.Root.MkdirAll(folder, 0o755); err != nil {
		return d.Failure("make the folder", folder, err)
	}
	// Each new folder's name lives in the one above it.
	for above := filepath.Dir(folder); ; above = filepath.Dir(above) {
		if err := d.SyncDir(above); err != nil {
			return d.Failure("sync", above, err)
		}
		if above == "." {
			return nil
		}
	}
}

// SyncDir makes the names in a folder durable: after a power loss a created or renamed file is
// still there. It fails when the system cannot say so.
func (d *Dir) SyncDir(name string) error {
	dir, err := d.Root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// RenameNew renames a file to a name that does not exist yet, in one step: where there is one by then, nothing changes
// and the error is fs.ErrExist. errors.ErrUnsupported says that the system, or the folder's file system, has no such
// step.
func (d *Dir) RenameNew(from, to string) error {
	fromDir, err := d.Root.Open(filepath.Dir(from))
	if err != nil {
		return err
	}
	defer fromDir.Close()
	toDir, err := d.Root.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer toDir.Close()
	if err := renameNew(fromDir, filepath.Base(from), toDir, filepath.Base(to)); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// Failure gives a file system error its class, by type (F1). action is a verb phrase.
func (d *Dir) Failure(action, name string, err error) *eventlog.Failure {
	cause := err
	var pathError *fs.PathError
	var linkError *os.LinkError
	if errors.As(err, &pathError) {
		cause = pathError.Err
	} else if errors.As(err, &linkError) {
		cause = linkError.Err
	}
	class, code := eventlog.Internal, "io"
	switch {
	case errors.Is(cause, d.escapes):
		return d.Fail(eventlog.Precondition, "outside",
			"cannot %s %s: a symbolic link in it leads outside of the connector's folder", action, name)
	case errors.Is(cause, fs.ErrNotExist):
		class, code = eventlog.Precondition, "missing"
	case errors.Is(cause, fs.ErrPermission), errors.Is(cause, syscall.EROFS):
		class, code = eventlog.Permission, "permission"
	case errors.Is(cause, errors.ErrUnsupported):
		class, code = eventlog.Precondition, "unsupported"
	case errors.Is(cause, fs.ErrExist):
		class, code = eventlog.Precondition, "exists"
	case errors.Is(cause, syscall.ENAMETOOLONG), errors.Is(cause, syscall.EINVAL):
		class, code = eventlog.Logic, "path"
	case errors.Is(cause, syscall.ENOTDIR), errors.Is(cause, syscall.EISDIR), errors.Is(cause, syscall.ELOOP),
		errors.Is(cause, syscall.ENXIO):
		class, code = eventlog.Precondition, "path"
	case errors.Is(cause, syscall.ENOSPC), errors.Is(cause, syscall.EDQUOT), errors.Is(cause, syscall.EMFILE),
		errors.Is(cause, syscall.ENFILE), errors.Is(cause, syscall.EIO), errors.Is(cause, syscall.EAGAIN):
		class, code = eventlog.Transient, "io"
	}
	return d.Fail(class, code, "cannot %s %s: %v", action, name, cause)
}

// Fail builds a failure whose code begins with the connector's name.
func (d *Dir) Fail(class eventlog.Class, code, format string, args ...any) *eventlog.Failure {
	return connector.Failf(class, d.prefix+"."+code, format, args...)
}
