package engine

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/projections"
)

// lingerMinBusy is how many workflows must be at work for a run to linger, its own among them: with fewer there
// is nothing to save.
const lingerMinBusy = 8

// lingerFactor times the time that an append takes lately is how long a run lingers: a client that was told of
// the last commit needs that long to send the next event and to have it recorded.
const lingerFactor = 5

// linger holds back a run that was started only to find that nothing is left to do (S3), while
// many workflows are at work: an event that arrives in the meantime is worked off by this very run,
// and two handler calls and a write are saved for each such event. Any change of the workflow ends
// it, so nothing waits for a lingering run. It reports whether the state has to be looked at again.
func (r *runner) linger(ctx context.Context, s *projections.State, todo decide.Todo) bool {
	if next, ok := todo.(decide.RunNext); ok {
		r.worked = len(s.Run(next.Run).Reserved) > 0
		return false
	}
	prepare, ok := todo.(decide.RunPrepare)
	if !ok || !r.worked || r.engine.cfg.Linger == 0 {
		return false
	}
	r.worked = false // one look of a burst only
	run := s.Run(prepare.Run)
	if r.engine.atWork.Load() < lingerMinBusy || !decide.LooksAround(s, run, r.workflow.now()) {
		return false
	}
	timer := time.NewTimer(min(r.engine.cfg.Linger, lingerFactor*r.engine.appends.value()))
	defer timer.Stop()
	for r.workflow.state().Head == s.Head && !r.engine.draining.Load() {
		select {
		case <-r.workflow.changed.Rung():
		case <-timer.C:
			return false
		case <-ctx.Done():
			return true
		}
	}
	return true
}
