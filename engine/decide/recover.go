package decide

import (
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// decide of Recover keeps R14 and S6: the worker of an active run is gone, in this process or
// another. Only an open call of this very process is waited for.
func (c Recover) decide(d *decision) error {
	s := d.state()
	for _, run := range append([]*projections.Run{s.CurrentRun()}, slices.Collect(s.OpenRuns())...) {
		if d.err == nil && run != nil && c.abandoned(d, run) {
			d.crash(run)
		}
	}
	s = d.state()
	if s.Archived || d.err != nil {
		return nil
	}
	for _, c := range s.Definition().Consumers {
		if c.Concurrent() {
			continue
		}
		h := s.Handler(c.Name)
		if _, waits := oldestVisible(s, c, d.env.Now); waits && h != nil && h.DirtyAt == 0 {
			d.emit(&eventlog.HandlerDirtied{Handler: c.Name})
		}
	}
	return nil
}

// abandoned reports whether nothing works for the active run any more: neither a worker, nor a call of this process.
func (c Recover) abandoned(d *decision, run *projections.Run) bool {
	if run.Status != eventlog.RunActive || run.Engine == d.env.Engine && run.StartRevision > c.Found {
		return false
	}
	m := d.state().Mutation(run.Mutation)
	return run.Mutation == "" || m == nil || m.Status != eventlog.MutationInFlight || m.Engine != d.env.Engine
}

func (d *decision) crash(run *projections.Run) {
	if m := d.state().Mutation(run.Mutation); run.Mutation != "" && m != nil && m.Status == eventlog.MutationInFlight {
		f := failure(eventlog.Transient, "mutation.uncertain", "the process stopped while %s.%s was in flight",
			m.Call.Connector, m.Call.Operation)
		d.leaveUncertain(run, m, *f, 0)
		return
	}
	d.lead(&eventlog.RunCrashed{Run: run.ID})
	if run.Event != nil {
		d.disposeOne(run, uncharged)
		return
	}
	d.endSession(eventlog.SessionFailed)
	d.dispose(run, uncharged)
}
