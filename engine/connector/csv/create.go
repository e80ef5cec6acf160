package csv

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// openOrCreate opens the file for an append. A file that is missing or has no byte is made with a
// header: the call's, or else the names of its values.
func (c *Connector) openOrCreate(ctx context.Context, call connector.Call, name string, p appendParams) (*openFile,
	*eventlog.Failure) {
	for {
		f, failure := c.openLocked(ctx, call, name, true)
		if failure != nil {
			if ctx.Err() != nil || failure.Code != "csv.missing" {
				return nil, failure
			}
			// Lstat comes first: a file that is made between the two looks must not be taken for a link that leads to nothing.
			if _, err := c.dir.Root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
				if _, err := c.dir.Root.Stat(name); err != nil {
					return nil, failure // a link that leads to nothing
				}
				continue // another call has made the file meanwhile
			}
			if failure := c.create(name, p, ownersAlone, c.dir.Root.Link); failure != nil {
				return nil, failure
			}
			continue
		}
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, c.dir.Failure("look at", name, err)
		}
		if info.Size() > 0 {
			return f, nil
		}
		// The empty file is replaced while its lock is held: a process that waits for that lock finds the
		// new file under the name afterwards, so no row can be replaced with it.
		failure = c.create(name, p, info.Mode().Perm(), c.dir.Root.Rename)
		f.Close()
		if failure != nil {
			return nil, failure
		}
	}
}

// create makes the file with its header, whole or not at all. place gives the finished file its
// name; if that is taken by now, the file there stays.
func (c *Connector) create(name string, p appendParams, mode fs.FileMode,
	place func(from, to string) error) *eventlog.Failure {
	header, failure := headerFor(name, p)
	if failure != nil {
		return failure
	}
	folder := filepath.Dir(name)
	temporary := filepath.Join(folder, ".pawl-new-"+rand.Text())
	file, err := c.dir.Root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, ownersAlone)
	if err != nil {
		return c.dir.Failure("create", name, err)
	}
	defer c.dir.Root.Remove(temporary)
	_, err = file.Write(header)
	if err := errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err != nil {
		return c.dir.Failure("create", name, err)
	}
	if err := place(temporary, name); err != nil && !errors.Is(err, fs.ErrExist) {
		return c.dir.Failure("create", name, err)
	}
	if err := c.dir.SyncDir(folder); err != nil {
		return c.dir.Failure("create", name, err)
	}
	return nil
}

// headerFor is the header line of a new file, the key column last.
func headerFor(name string, p appendParams) ([]byte, *eventlog.Failure) {
	columns := p.Header
	if len(columns) == 0 {
		var failure *eventlog.Failure
		if columns, failure = namesInOrder(name, p.Values); failure != nil {
			return nil, failure
		}
	}
	seen := make(map[string]bool, len(columns))
	header := make([]string, 0, len(columns)+1)
	for _, column := range columns {
		if column == "" || column == keyColumn || seen[column] || strings.ContainsRune(column, 0) {
			return nil, connector.Failf(eventlog.Logic, "csv.header",
				"the header of %s needs names that are not empty, not %s, not repeated and without NUL characters: %q",
				name, keyColumn, column)
		}
		seen[column] = true
		header = append(header, asText(column))
	}
	l := newLayout(append(header, keyColumn), ',', "\n")
	// The values are checked against the new header first: a call that fails leaves no file.
	if _, failure := l.row(p, "key"); failure != nil {
		return nil, failure
	}
	return l.encode(l.header), nil
}

// namesInOrder lists the names of an object's values as the script wrote them.
func namesInOrder(name string, values json.RawMessage) ([]string, *eventlog.Failure) {
	decoder := json.NewDecoder(bytes.NewReader(values))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, connector.Failf(eventlog.Precondition, "csv.missing",
			"%s does not exist; give a header to create it with, or values by column name", name)
	}
	var names []string
	seen := make(map[string]bool)
	for decoder.More() {
		token, err := decoder.Token()
		column, ok := token.(string)
		var value json.RawMessage
		if err == nil {
			err = decoder.Decode(&value)
		}
		if err != nil || !ok {
			return nil, connector.Failf(eventlog.Logic, connector.CodeParams, "values cannot be read: %v", err)
		}
		if !seen[column] {
			seen[column] = true
			names = append(names, column)
		}
	}
	if len(names) == 0 {
		return nil, connector.Failf(eventlog.Precondition, "csv.missing",
			"%s does not exist; give a header to create it with", name)
	}
	return names, nil
}
