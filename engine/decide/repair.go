package decide

import (
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// RepairRefused says that a repair was not accepted: it counts as a failure of the script, or a repairer could try
// forever (F9). A repair is judged in three steps: Engine.Repair (engine/deploy.go) asks whether one is wanted,
// engine/deploy/redeploy.go judges the script, and Deploy.allowed (deploy.go) judges it once more when it is recorded.
// What is refused is counted here.
type RepairRefused struct{ Reason string }

func (RepairRefused) names(*projections.State, func(projections.Key)) {}

// decide of RepairRefused is F9: a refused repair counts too. Outside maintenance there was
// nothing to repair, and nothing counts.
func (c RepairRefused) decide(d *decision) error {
	s := d.state()
	if !RepairWanted(s) {
		return RefuseNotRequested(s.Name)
	}
	for _, consumer := range s.Definition().Consumers {
		if consumer.Concurrent() && s.HeldFor(consumer, eventlog.HeldRepair) > 0 {
			d.countRepair(consumer.Name)
		}
	}
	if s.Maintenance != nil {
		d.escalate(s.Maintenance.Run, "a repair was refused: "+c.Reason)
	}
	return nil
}

// RefuseNotRequested is the refusal of a repair that nothing waits for.
func RefuseNotRequested(w eventlog.WorkflowName) *Refusal {
	return refuse(Conflict, "repair.notRequested", "workflow %s is not in maintenance: there is nothing to repair", w).
		hint(hint.DeployInstead)
}

// keepsConcurrency refuses a repair that changes how many runs a consumer has at once, in which order or how often
// (C9), which of its calls a person approves, or where what it discards goes (F9).
func keepsConcurrency(s *projections.State, def *eventlog.Definition) *Refusal {
	for _, old := range s.Definition().Consumers {
		now, kept := def.Consumer(old.Name)
		if kept && !now.SameConcurrency(old) {
			return refuse(Invalid, "repair.concurrency", "a repair may not change concurrency, key or rate of consumer %s",
				old.Name).hint(hint.KeepConcurrency)
		}
		if kept && !now.SameDuties(old) {
			return refuse(Invalid, "repair.duties", "a repair may not change approval or deadLetter of consumer %s",
				old.Name).hint(hint.KeepConcurrency)
		}
	}
	return nil
}

// RepairWanted reports whether the workflow, or an event of it, waits for a repair (F7, C5).
func RepairWanted(s *projections.State) bool {
	for _, n := range s.Counts.Held {
		if n.Reason == eventlog.HeldRepair {
			return true
		}
	}
	return s.Maintenance != nil
}

// endMaintenance lets runs start again. An operator's plain redeploy also resets the budget, and
// is what the hold of a spent one was waiting for (F9).
func (d *decision) endMaintenance(plain bool) {
	s := d.state()
	if s.Maintenance != nil {
		d.emit(&eventlog.MaintenanceLeft{})
	}
	if plain && s.RepairFailures > 0 {
		d.emit(&eventlog.RepairCounted{})
	}
	if plain {
		d.unblock(eventlog.BlockLogic)
	}
}

// escalate counts one more failure of the script or of its repair, and gives up on repairs when
// the budget is spent (F9).
func (d *decision) escalate(run eventlog.RunID, last string) bool {
	failures := d.state().RepairFailures + 1
	d.emit(&eventlog.RepairCounted{Failures: failures})
	if failures < d.env.Policies.Repair.Budget {
		return false
	}
	if d.state().Maintenance != nil {
		d.emit(&eventlog.MaintenanceLeft{})
	}
	d.block(eventlog.BlockLogic, run, "the script failed %s in a row, the last: %s", eventlog.Count(failures, "time"),
		last)
	return true
}

// repaired reports whether the handler's success ends the failures in a row (F9): it is the one
// that failed, or that one is gone. Every repair makes all handlers run, so the success of another
// one would reset the budget each time and repairs would never end.
func repaired(s *projections.State, handler eventlog.Handler) bool {
	failed := s.RepairHandler
	_, producer := s.Definition().Producer(failed)
	_, consumer := s.Definition().Consumer(failed)
	return handler == failed || !producer && !consumer
}
