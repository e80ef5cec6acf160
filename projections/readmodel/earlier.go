package readmodel

import (
	"context"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// earlierWithin is among how many runs before a run FailedBefore looks: an answer must not cost more
// as history grows.
const earlierWithin = 5000

// FailedBefore lists the runs before this one that bear on its failure, at most so many, the newest
// first: those that it is a retry of (R15), and the failed ones of its handler that held one of its
// events. A run that failed before it had chosen events, as each of a producer does, may have failed
// for any of them, so it bears on all of its handler.
func (r *Reader) FailedBefore(ctx context.Context, w eventlog.WorkflowName, id eventlog.RunID, most int) ([]Run,
	error) {
	return answer(ctx, r, func(v *view) ([]Run, error) {
		run, err := one[projections.Run](v, w, projections.RunKey(id), "run", string(id))
		if err != nil {
			return nil, err
		}
		var earlier []Run
		chain, looked := run.RetryOf, 0
		for item, err := range v.List(store.Range{Kind: projections.KindRun, Workflow: w, Desc: true},
			store.Position{0: run.Created}) {
			if err != nil {
				return nil, err
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			other := item.Entity.(*projections.Run)
			switch {
			case other.ID == chain:
				chain = other.RetryOf
				earlier = append(earlier, RunView(w, other, nil))
			case other.Failure != nil && bears(other, run):
				earlier = append(earlier, RunView(w, other, nil))
			}
			if looked++; len(earlier) == most || looked == earlierWithin {
				break
			}
		}
		return earlier, nil
	})
}

// bears says whether the failure of another run has to do with this run's events.
func bears(other, run *projections.Run) bool {
	if other.Handler != run.Handler {
		return false
	}
	return len(other.Reserved) == 0 || len(run.Reserved) == 0 ||
		slices.ContainsFunc(run.Reserved, func(ref eventlog.EventRef) bool {
			return slices.Contains(other.Reserved, ref)
		})
}
