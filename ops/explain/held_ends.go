package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// outlookOf joins the outlooks of the calls for which events are held: a command is offered for all of them if it is
// accepted for at least one. It also names calls that can still take effect.
func (w *Why) outlookOf(s *projections.State, groups []heldGroup) engine.Outlook {
	all := engine.Outlook{}
	settled := 0
	var open []string
	for _, g := range groups {
		for _, e := range g.events {
			_, m := heldBy(s, e)
			if m == nil {
				continue
			}
			one := w.with.outlook(s.Name, m)
			all.Asks = all.Asks || one.Asks
			if !one.MayTakeEffect {
				settled++
				continue
			}
			until := fmt.Sprintf("once its exchange has ended, at most a few minutes after its deadline (%s)", m.Deadline)
			if one.Until != 0 {
				until = fmt.Sprintf("from %s on", one.Until)
			}
			open = append(open, fmt.Sprintf("of %s %s", callName(s, m), until))
		}
	}
	all.MayTakeEffect = len(open) > 0 && settled == 0
	if len(open) > 0 {
		named := open[:min(len(open), maxNamed)]
		if more := len(open) - len(named); more > 0 {
			named = append(slices.Clone(named), fmt.Sprintf("of %d more later", more))
		}
		w.add("%s can still take effect. You can say that it did not happen: %s.", eventlog.Count(len(open), "call"),
			strings.Join(named, "; "))
	}
	return all
}

// Ends names the commands that end what holds the event, the most likely one first, each accepted in this very state
// (C5). There are none for a call whose outcome is being asked for: that ends by itself.
func (b Beside) Ends(w *projections.Workflow, e *projections.TopicEvent, run *projections.Run,
	m *projections.Mutation) []string {
	return b.ends(w, e, run, m, run != nil && olderThan(run, w))
}

// ends are the commands of [Beside.Ends]. deployed says that the script has been deployed since the event is held.
func (b Beside) ends(w *projections.Workflow, e *projections.TopicEvent, run *projections.Run,
	m *projections.Mutation, deployed bool) []string {
	var commands []string
	can := func(format string, args ...any) { commands = append(commands, fmt.Sprintf(format, args...)) }
	redrive := eventCommand("redrive", w.Name, e.Topic, e.MessageID)
	skip := eventCommand("skip", w.Name, e.Topic, e.MessageID)
	switch {
	case e.Held == nil || e.Held.Reason == eventlog.HeldReconcile:
		return nil
	case e.Held.Reason == eventlog.HeldIndeterminate:
		if m != nil {
			return resolutions(string(m.ID), b.outlook(w.Name, m))
		}
		return commands
	case w.Archived:
		return append(commands, skip)
	case e.Held.Reason == eventlog.HeldApproval:
		if m != nil {
			if w.Pause != nil {
				can("pawl resume %s", w.Name)
			} else {
				can("pawl approve %s", m.ID)
			}
			can("pawl reject %s", m.ID)
		}
		return append(commands, skip)
	case e.Held.Reason == eventlog.HeldRepair:
		can("pawl deploy FILE")
	default:
		f := readmodel.HeldFailure(e, run, m)
		if f != nil && f.Code == deploy.CodeChanged && !deployed {
			can("pawl deploy FILE")
		}
		can("pawl resume %s", w.Name)
		if f != nil && f.Class == eventlog.Logic {
			can("pawl deploy FILE")
		}
	}
	commands = append(commands, redrive)
	if !onlyNextIsLeft(e) {
		commands = append(commands, skip)
	}
	return commands
}

// deployed is the version in which the script has been deployed since the last event of the group was held. It is empty
// where the script has not been deployed since then.
func (g heldGroup) deployed(s *projections.State) (version eventlog.Version) {
	for _, e := range g.events {
		run, _ := heldBy(s, e)
		if version = deployedSince(s, run, e.Held.Since); version == "" {
			return ""
		}
	}
	return version
}

// deployedSince is the version that runs now, if the script has been deployed since the failure of the run, which was
// at that time. It is empty if not. A repair is no deploy: it accepts no change of a connector. The run is nil where it
// is not in memory.
func deployedSince(s *projections.State, run *projections.Run, failed eventlog.Instant) eventlog.Version {
	if run != nil && olderThan(run, &s.Workflow) {
		return s.Version
	}
	for _, script := range s.Scripts() {
		if !script.Repair && script.DeployedAt > failed {
			return s.Version
		}
	}
	return ""
}

// olderThan reports whether the workflow's script has been deployed since the run's version was.
func olderThan(run *projections.Run, w *projections.Workflow) bool {
	return w.Version.Compare(run.Version.Next(false)) >= 0
}
