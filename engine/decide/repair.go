package decide

import (
	"slices"

	"github.com/pawl-run/pawl/engine/decide/kept"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// RepairRefused says that a repair was not accepted: it counts as a failure of the script, or a repairer could try
// forever (F9). A repair is judged in three steps: Engine.Repair (engine/deploy.go) asks whether one is wanted,
// engine/deploy/redeploy.go judges the script, and Deploy.allowed (deploy.go) judges it once more when it is recorded.
// What is refused is counted here.
type RepairRefused struct{ Reason string }

// decide of RepairRefused is F9: a refused repair counts too. Where neither the workflow nor an event waits for a
// repair, nothing counts.
func (c RepairRefused) decide(d *decision) error {
	s := d.state()
	if !RepairWanted(s) {
		return RefuseNotRequested(s, d.env.Policies.Repair.Budget)
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

// RefuseNotRequested is the refusal of a repair that nothing waits for, or that comes after the last of the budget.
func RefuseNotRequested(s *projections.State, budget int) *Refusal {
	if RepairsSpent(s, budget) {
		return refuseSpent(s)
	}
	return refuse(Conflict, "repair.notRequested", "workflow %s is not in maintenance: there is nothing to repair",
		s.Name).hint(hint.DeployInstead)
}

// RepairsSpent reports whether the workflow, or an event of it, has failed so often after repairs that only a person
// lets it go on (F9, C5).
func RepairsSpent(s *projections.State, budget int) bool {
	if s.Blocked != nil && s.Blocked.Reason == eventlog.BlockLogic {
		return true
	}
	if s.Maintenance == nil && s.RepairFailures >= budget {
		return true // another hold stands before this one
	}
	return slices.ContainsFunc(s.Definition().Consumers, func(c eventlog.Consumer) bool {
		h := s.Handler(c.Name)
		return c.Concurrent() && h != nil && h.RepairFailures >= budget && s.HeldFor(c, eventlog.HeldPerson) > 0
	})
}

func refuseSpent(s *projections.State) *Refusal {
	return refuse(Conflict, "repair.spent", "workflow %s has failed again after its last repair, and the budget of "+
		"repairs is spent: a person has to look at it first", s.Name).hint(hint.PersonLooks, s.Name, s.Name)
}

// countDeployAsRepair counts a model's deploy against the budget of each concurrent consumer that has events held for a
// repair: it is tried on them as a repair is. A plain handler's failure counts by itself (F9, C5).
func (d *decision) countDeployAsRepair() {
	s := d.state()
	for _, c := range s.Definition().Consumers {
		if h := s.Handler(c.Name); c.Concurrent() && h != nil && s.HeldFor(c, eventlog.HeldRepair) > 0 {
			d.emit(&eventlog.HandlerRepairCounted{Handler: c.Name, Failures: h.RepairFailures + 1})
		}
	}
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

// endMaintenance lets runs start again. An operator's plain redeploy also resets the budget, and so ends the block of a
// spent one (F9).
func (d *decision) endMaintenance(plain bool) {
	s := d.state()
	if s.Maintenance != nil {
		d.emit(&eventlog.MaintenanceLeft{})
	}
	if plain && s.RepairFailures > 0 {
		d.emit(&eventlog.RepairCounted{})
	}
	if plain {
		d.restartBudgets()
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

// countedBefore marks the handler whose failure was counted before one of another handler: the count then ends with a
// success of both, or a script that breaks them in turn would never spend its budget (F9).
func (d *decision) countedBefore(failing eventlog.Handler) {
	s := d.state()
	last := s.Handler(s.RepairHandler)
	if s.RepairFailures > 0 && last != nil && last.Name != failing && last.RepairFailures == 0 {
		d.emit(&eventlog.HandlerRepairCounted{Handler: last.Name, Failures: 1})
	}
}

// repaired ends the failures in a row once what has failed works again (F9): at a commit of the handler that failed
// last, if those that had failed before it have committed since. Every repair makes all handlers run, so the success of
// another one proves nothing. A handler that the script has no more proves nothing either: then a person ends the
// count.
func (d *decision) repaired(run *projections.Run, taken int) {
	s := d.state()
	h := s.Handler(run.Handler)
	if s.RepairFailures == 0 || h == nil || d.err != nil || !d.worked(run, taken) {
		return
	}
	if h.RepairFailures > 0 && run.Event == nil {
		d.emit(&eventlog.HandlerRepairCounted{Handler: h.Name})
	}
	if s = d.state(); h.Name != s.RepairHandler && s.RepairHandler != "" {
		return
	}
	for name, other := range s.Handlers() {
		if c, ok := s.Definition().Consumer(name); other.RepairFailures > 0 && !(ok && c.Concurrent()) {
			return
		}
	}
	d.emit(&eventlog.RepairCounted{})
}

// worked reports whether a committed run has done what its handler is for. A run that took nothing, although events
// were waiting, may only have avoided what it fails on.
func (d *decision) worked(run *projections.Run, taken int) bool {
	if run.Type == eventlog.ProducerHandler || run.RetryOf != "" {
		return true
	}
	if run.Event != nil {
		return !run.Empty
	}
	_, waits := oldestVisible(d.state(), d.consumer(run), d.env.Now)
	return taken > 0 || !waits
}

// CodeRepair is the code of what a repair may not change.
const CodeRepair = "repair.forbidden"

// refuseKept refuses a repair that changes what it has to keep.
func refuseKept(s *projections.State, def *eventlog.Definition) *Refusal {
	changed := kept.ByRepair(s.Definition(), def)
	if len(changed) == 0 {
		return nil
	}
	return refuse(Invalid, CodeRepair, "%s", changed[0].Message).hint(hint.DeployInstead)
}
