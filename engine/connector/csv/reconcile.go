package csv

import (
	"context"
	"errors"
	"io/fs"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// Reconcile says whether the row was written. It holds the file's lock, so no append is under way;
// one that comes later finds its deadline passed.
func (c *Connector) Reconcile(ctx context.Context, call connector.Call) connector.Reconciliation {
	p, name, failure := c.appendParams(call)
	if failure != nil {
		return connector.RetryWith(failure)
	}
	if _, err := c.dir.Root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return notWritten("%s does not exist", name)
	}
	f, s, end, failure := c.change(ctx, call, func() (*openFile, *eventlog.Failure) {
		return c.openLocked(ctx, call, name, true)
	})
	if failure != nil {
		return connector.RetryWith(failure)
	}
	defer end()
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
