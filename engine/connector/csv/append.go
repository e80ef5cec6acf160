package csv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
	f, s, end, failure := c.change(ctx, call, func() (*openFile, *eventlog.Failure) {
		return c.openOrCreate(ctx, call, name, p)
	})
	if failure != nil {
		return connector.FailedWith(failure)
	}
	defer end()
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
