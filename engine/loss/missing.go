package loss

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
)

// missing is a range of messages that a partition lacks.
type missing struct {
	from, messages uint64
	// revisions are those that workflows lack across it alone.
	revisions uint64
}

// among reports whether a part of it is in one of the ranges: what was recorded as lost before is not asked again.
func (m missing) among(ranges []eventlog.Missing) bool {
	return slices.ContainsFunc(ranges, func(r eventlog.Missing) bool {
		return r.From < m.from+m.messages && m.from <= r.To
	})
}

// trace is where a workflow was seen last.
type trace struct {
	revision uint64
	holes    int  // how many ranges were missing before it
	unsure   bool // its revision is not known
}

// lastUnattributed is the sequence at which the last missing range begins that may hold messages of any workflow, 0
// when there is none. Where workflows lack as many revisions across a range as messages are missing in it, all missing
// messages are theirs, and nothing of another workflow is missing there.
func lastUnattributed(ctx context.Context, log eventlog.Log, partition int, lost []eventlog.Missing) (uint64, error) {
	lastLost := lost[len(lost)-1].From
	var holes []missing
	seen, next := map[eventlog.WorkflowName]trace{}, uint64(1)
	for r, err := range readAll(ctx, log, partition, 1) {
		switch {
		case err != nil && !errors.Is(err, eventlog.ErrUnreadable) && !errors.Is(err, eventlog.ErrDamaged):
			return 0, fmt.Errorf("read around what is missing: %w", err)
		case r.Position.Seq < next || err != nil && r.Workflow == "":
			return lastLost, nil // a message whose workflow is not known may hold any revision
		case r.Position.Seq > next:
			holes = append(holes, missing{from: next, messages: r.Position.Seq - next})
		}
		next = r.Position.Seq + 1
		before := seen[r.Workflow]
		if n := len(holes); err == nil && !before.unsure && n == before.holes+1 && r.Revision > before.revision+1 {
			holes[n-1].revisions += r.Revision - before.revision - 1
		}
		seen[r.Workflow] = trace{revision: r.Revision, holes: len(holes), unsure: err != nil}
	}
	last, err := log.Last(ctx, partition)
	if err != nil {
		return 0, fmt.Errorf("find the end of the log: %w", err)
	}
	if end := (missing{from: next, messages: last + 1 - next}); last >= next && end.among(lost) {
		return next, nil
	}
	for i := len(holes) - 1; i >= 0; i-- {
		if h := holes[i]; h.revisions != h.messages && h.among(lost) {
			return holes[i].from, nil
		}
	}
	return 0, nil
}

// readAll reads a partition with what was set aside in it.
func readAll(ctx context.Context, log eventlog.Log, partition int, from uint64) iter.Seq2[eventlog.Record, error] {
	if keeper, ok := log.(eventlog.LossKeeper); ok {
		return keeper.ReadAll(ctx, partition, from)
	}
	return log.Read(ctx, partition, from)
}
