package explain

import (
	"fmt"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

func (w *Why) explainMaintenance(s *projections.State, wait decide.Wait) {
	name := s.Name
	w.set("The script of workflow %s failed in run %s and needs a repair.", name, wait.Subject)
	if s.Maintenance != nil {
		w.Since = s.Maintenance.Since
		if s.RepairFailures > 0 { // it is 0 after a resume, which starts the count again (F9)
			w.set("The script of workflow %s failed in run %s (%s in a row) and needs a repair.", name, wait.Subject,
				eventlog.Count(s.RepairFailures, "failure"))
		}
	}
	run := w.run(s, eventlog.RunID(wait.Subject))
	if run != nil && run.Failure != nil {
		line := ""
		if run.Failure.Line > 0 {
			line = fmt.Sprintf(", line %d", run.Failure.Line)
		}
		w.add("It was %s %s of version %s%s: %s.", run.Type, run.Handler, run.Version, line, quoted(run.Failure.Message))
	}
	if s.PendingRetry != "" {
		w.add("%s; the repaired script goes on with next.", settled(s.RetryRun()))
	}
	w.add("%s until a repaired or a new script is there; events still arrive and wait.", nothingRuns(s))
	w.offer("pawl runs show %s %s --evidence", name, wait.Subject)
	w.offer("pawl repair %s FILE", name)
	w.offer("pawl deploy FILE")
	if s.PendingRetry != "" {
		return // the change outside is made, and only next is left to run
	}
	const goOn = "deploy the script again, also unchanged"
	w.explainHeldEvents(s, run, goOn)
	if run != nil && run.Type == eventlog.ConsumerHandler && len(run.Reserved) == 0 && pendingEvents(s) > 0 {
		w.add("It had chosen no event yet, so no event was counted as failed; if one is at fault, skip it and %s.", goOn)
		w.offer("pawl events list --workflow %s --status pending", name)
	}
}

// nothingRuns says what stands still because of a plain handler: concurrent consumers go on (C8).
func nothingRuns(s *projections.State) string {
	if !concurrentGoOn(s) {
		return "Nothing runs"
	}
	waiting := 0
	for _, topic := range s.Waiting {
		if c, ok := s.Definition().Subscriber(topic.Topic); ok && !c.Concurrent() {
			waiting += topic.Events
		}
	}
	return fmt.Sprintf("Its concurrent consumers go on; its producers and its other consumers do not run (%s for them)",
		eventlog.Count(waiting, "event")+number(waiting, " waits", " wait"))
}

func (w *Why) explainBlocked(s *projections.State) {
	b := s.Blocked
	if b == nil {
		w.set("The system holds workflow %s.", s.Name)
		w.offer("pawl resume %s", s.Name)
		return
	}
	w.Since = b.Since
	w.set("The system holds workflow %s (%s): %s", s.Name, b.Reason, holdOf(b))
	run := w.run(s, b.Run)
	if run != nil {
		w.add("It comes from run %s of %s %s.", run.ID, run.Type, run.Handler)
	}
	code := ""
	if run != nil && run.Failure != nil {
		code = run.Failure.Code
	}
	changed := b.Reason == eventlog.BlockPrecondition && code == deploy.CodeChanged
	deployed := deployedSince(s, run, b.Since)
	denied := b.Reason == eventlog.BlockPermission && code == capability.CodeDenied
	setting := connector.Configured(code)
	unconfigured := b.Reason == eventlog.BlockPermission && setting != ""
	switch remedy := remedies[b.Reason]; {
	case changed && deployed != "":
		w.add("The script has been deployed since (%s): pawl resume %s.", deployed, s.Name)
	case changed:
		w.add("Deploy the script again to accept that, then resume.")
	case denied:
		w.add("Grant what it needs, then resume.")
	case unconfigured:
		w.add("No grant changes that: correct %s in the engine's configuration, start the engine again, then resume.",
			setting)
	case remedy != "":
		w.add("%s", remedy)
	}
	if s.PendingRetry != "" && b.Reason != eventlog.BlockContradiction {
		w.add("%s; only next is run again.", settled(s.RetryRun()))
	}
	if b.Run != "" {
		show := "pawl runs show %s %s"
		if b.Reason == eventlog.BlockLogic {
			show += " --evidence"
		}
		w.offer(show, s.Name, b.Run)
	}
	switch {
	case unconfigured:
	case b.Reason == eventlog.BlockPermission && run != nil && capability.Missing(run.Failure) != "":
		w.offer("pawl grants %s %s=allow", s.Name, capability.Missing(run.Failure))
	case b.Reason == eventlog.BlockPermission:
		w.offer("pawl grants %s", s.Name)
	case b.Reason == eventlog.BlockLogic, changed && deployed == "":
		w.offer("pawl deploy FILE")
	case b.Reason == eventlog.BlockContradiction && run != nil && run.Mutation != "":
		w.offer("pawl mutations show %s", run.Mutation)
	}
	w.offer("pawl resume %s", s.Name)
	switch b.Reason {
	case eventlog.BlockPrecondition, eventlog.BlockInternal, eventlog.BlockLogic, eventlog.BlockTransient,
		eventlog.BlockAuth, eventlog.BlockPermission, eventlog.BlockContradiction:
		w.explainHeldEvents(s, run, "resume") // other reasons have nothing to do with the events of the run
	}
}
