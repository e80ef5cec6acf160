package csv

import (
	"context"
	"os"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/turn"
	"github.com/pawl-run/pawl/eventlog"
)

// large is the size from which on reading a file is work that calls take turns at. What reads less has no turn and does
// not wait: it is done within a millisecond or two.
const large = 64 << 10

func newTurns(places int) *turn.Queue {
	return turn.New(turn.Bounds{Target: "large CSV files", Places: places, PlacesFrom: "a bound of the csv connector"})
}

// Waiting lists the workflow's calls that wait for their turn to read a large file.
func (c *Connector) Waiting(workflow eventlog.WorkflowName) []connector.Waiting {
	return turn.Waiting(workflow, c.turns)
}

// A call that has a turn may wait for a file; a call that holds a file never waits for a turn. So no two calls ever
// wait for each other.

// read opens a file to read it from its beginning. close ends that.
func (c *Connector) read(ctx context.Context, call connector.Call, name string) (f *openFile, close func(),
	failure *eventlog.Failure) {
	var own *turn.Turn
	if info, err := c.dir.Root.Stat(name); err == nil && info.Size() >= large {
		if own, failure = c.turns.Enter(ctx, call); failure != nil {
			return nil, nil, failure
		}
	}
	if f, failure = c.openLocked(ctx, call, name, false); failure != nil {
		own.End()
		return nil, nil, failure
	}
	return f, func() { f.Close(); own.End() }, nil
}

// change opens a file, as open does, for a call that has it alone until close. Where the index does not say all that
// the call has to know, the file is read, and the call waits for its turn without the file before that.
func (c *Connector) change(ctx context.Context, call connector.Call, open func() (*openFile, *eventlog.Failure)) (
	f *openFile, s *sheet, close func(), failure *eventlog.Failure,
) {
	if f, failure = open(); failure != nil {
		return nil, nil, nil, failure
	}
	s = c.sheet(f.name)
	info, err := f.Stat()
	if err != nil || info.Size() < large || s.knows(info, call.Key) {
		return f, s, func() { f.Close() }, nil
	}
	f.Close()
	own, failure := c.turns.Enter(ctx, call)
	if failure != nil {
		return nil, nil, nil, failure
	}
	if f, failure = open(); failure != nil {
		own.End()
		return nil, nil, nil, failure
	}
	return f, c.sheet(f.name), func() { f.Close(); own.End() }, nil
}

// knows says whether the index is that of the file as it is now, and the file need not be read for the key: it has no
// row with it, and no unfinished one.
func (s *sheet) knows(info os.FileInfo, key string) bool {
	return s.index.of(info) && s.index.keys[hashKey(key)] == 0 && s.index.tail < 0
}
