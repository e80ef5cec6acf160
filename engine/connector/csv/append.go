package csv

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// Perform appends a row.
func (c *Connector) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	if call.Operation != "appendRow" {
		return connector.FailedWith(c.dir.Fail(eventlog.Internal, "operation", "csv.%s is not a mutation",
			call.Operation))
	}
	p, name, failure := c.appendParams(call)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	s, failure := c.take(ctx, name)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	defer c.release(s)
	f, failure := c.openOrCreate(ctx, name, p)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	defer f.Close()
	return c.append(ctx, call, s, f, p)
}

func (c *Connector) appendParams(call connector.Call) (appendParams, string, *eventlog.Failure) {
	var p appendParams
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return p, "", failure
	}
	name, failure := c.dir.Clean(p.File)
	return p, name, failure
}

// append writes the row to the locked file. Up to the write everything is a definite failure.
func (c *Connector) append(ctx context.Context, call connector.Call, s *sheet, f *openFile,
	p appendParams) connector.Outcome {
	x, failure := s.look(f)
	if failure == nil {
		failure = x.checkKeyColumn(f)
	}
	if failure != nil {
		return connector.FailedWith(failure)
	}
	written, failure := x.find(f, call.Key)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	if written > 0 {
		// The same key again: the first answer. Synced, since the process that wrote the row
		// may have died before it could do that.
		if err := f.Sync(); err != nil {
			return connector.UncertainWith(f.dir.Failure("sync", f.name, err))
		}
		return connector.Outcome{Status: connector.Applied, Result: rowResult(written)}
	}
	// A torn row is cut off first: half a character in it would count as another encoding.
	if x, failure = s.cutTorn(f, x, nil); failure == nil {
		failure = x.checkText(f)
	}
	if failure != nil {
		return connector.FailedWith(failure)
	}
	row, failure := x.layout.row(p, call.Key)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	// A last line that another program left unfinished is completed, or the new row would become part of it.
	var out []byte
	if x.tail >= 0 {
		if x.openQuote {
			out = append(out, '"')
		}
		out = append(out, x.layout.lineEnd...)
	}
	out = append(out, row...)

	if c.beforeAppend != nil {
		c.beforeAppend(ctx)
	}
	if failure := writeNote(f, x.info.Size(), out); failure != nil {
		return connector.FailedWith(failure)
	}
	if failure := connector.MayLeave(ctx, call); failure != nil {
		return connector.FailedWith(failure)
	}
	// From here on a crash leaves no row, a torn row or the whole row; reconcile tells which.
	s.index = nil
	if _, err := f.Write(out); err != nil {
		failure := f.dir.Failure("write", f.name, err)
		if err := errors.Join(f.Truncate(x.info.Size()), f.Sync()); err != nil {
			return connector.UncertainWith(failure)
		}
		return connector.FailedWith(failure)
	}
	if err := f.Sync(); err != nil {
		return connector.UncertainWith(f.dir.Failure("sync", f.name, err))
	}
	s.appended(f, x, call.Key, int64(len(out)))
	return connector.Outcome{Status: connector.Applied, Result: rowResult(x.rows)}
}

// appended brings the index up to date with the row just written, so that the file need not be read again.
func (s *sheet) appended(f *openFile, x *index, key string, bytes int64) {
	x.rows++
	x.keys[hashKey(key)] = x.rows
	x.tail, x.openQuote = -1, false
	info, err := f.Stat()
	if err != nil || info.Size() != x.info.Size()+bytes {
		return // another program wrote too: the next call reads the file
	}
	x.info = info
	s.index = x
}

func rowResult(row int64) json.RawMessage { return fmt.Appendf(nil, `{"row":%d}`, row) }

// cutTorn cuts off the piece of a row that a dead process left at the file's end, and returns the
// index of what remains.
func (s *sheet) cutTorn(f *openFile, x *index, expected []byte) (*index, *eventlog.Failure) {
	at, failure := x.tornAt(f, expected)
	if failure != nil || at < 0 {
		return x, failure
	}
	s.index = nil
	if err := errors.Join(f.Truncate(at), f.Sync()); err != nil {
		return nil, f.dir.Failure("cut a torn row off", f.name, err)
	}
	return s.look(f)
}

// Reconcile says whether the row was written. It holds the file's lock, so no append is under way;
// one that comes later finds its deadline passed.
func (c *Connector) Reconcile(ctx context.Context, call connector.Call) connector.Reconciliation {
	p, name, failure := c.appendParams(call)
	if failure != nil {
		return connector.RetryWith(failure)
	}
	s, failure := c.take(ctx, name)
	if failure != nil {
		return connector.RetryWith(failure)
	}
	defer c.release(s)
	if _, err := c.dir.Root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return notWritten("%s does not exist", name)
	}
	f, failure := openLocked(ctx, c.dir, name, true)
	if failure != nil {
		return connector.RetryWith(failure)
	}
	defer f.Close()
	x, failure := s.look(f)
	if failure != nil {
		return connector.RetryWith(failure)
	}
	row, failure := x.find(f, call.Key)
	if failure != nil {
		return connector.RetryWith(failure)
	}
	if row > 0 {
		if err := f.Sync(); err != nil {
			return connector.RetryWith(f.dir.Failure("sync", f.name, err))
		}
		return connector.Reconciliation{Verdict: connector.VerdictApplied, Result: rowResult(row)}
	}
	if x.layout.key < 0 && x.foreign == 0 {
		return connector.RetryWith(x.checkText(f)) // the row may stand there in an encoding that cannot be read
	}
	// Values that do not fit the file were never written, so there is no piece of them either.
	var expected []byte
	if x.layout.key >= 0 {
		if encoded, failure := x.layout.row(p, call.Key); failure == nil {
			expected = encoded
		}
	}
	if _, failure := s.cutTorn(f, x, expected); failure != nil {
		return connector.RetryWith(failure)
	}
	return notWritten("%s has no finished row with the key of this call", name)
}

func notWritten(format string, args ...any) connector.Reconciliation {
	return connector.Reconciliation{
		Verdict: connector.VerdictFailed,
		Failure: connector.Failf(eventlog.Transient, "csv.notWritten", "the row was not written: "+format, args...),
	}
}

// openOrCreate opens the file for an append. A file that is missing or has no byte is made with a
// header: the call's, or else the names of its values.
func (c *Connector) openOrCreate(ctx context.Context, name string, p appendParams) (*openFile, *eventlog.Failure) {
	for {
		f, failure := openLocked(ctx, c.dir, name, true)
		if failure != nil {
			if _, err := c.dir.Root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
				return nil, failure
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
