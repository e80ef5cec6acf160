package explain

import (
	"fmt"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

func (w *Why) explainIndeterminate(s *projections.State, wait decide.Wait, m *projections.Mutation) {
	if s.Blocked != nil {
		w.Since = s.Blocked.Since
	}
	w.set("Only a person can say what became of mutation %s.", wait.Subject)
	w.offer("pawl mutations show %s", wait.Subject)
	if m != nil {
		happened, afresh, skipped := "next goes on", "it is done afresh", "its events are skipped and next goes on"
		if s.Archived {
			happened, afresh, skipped = "it is recorded so", "its events are freed", "its events are skipped"
		}
		w.set("%s left at %s; it is not known whether it was applied%s. Look at the other side, then say that it happened "+
			"(%s), that it did not (%s), or skip it (%s).",
			callName(s, m), m.StartedAt, because(m.Failure), happened, afresh, skipped)
		if s.Archived {
			w.add("The workflow is archived: nothing of it runs again, and the record is all that changes.")
		} else {
			w.add("If it happened, next is given the result that you write behind --happened, as JSON, or null.")
		}
	}
	for _, command := range w.resolutions(s.Name, m, wait.Subject) {
		w.offer("%s", command)
	}
}

// resolutions are the commands that end an indeterminate mutation and that the engine accepts now. A command that it
// does not accept yet is named in the message, with the time from which it does.
func (w *Why) resolutions(name eventlog.WorkflowName, m *projections.Mutation, id string) []string {
	if m == nil {
		return resolutions(id, engine.Outlook{})
	}
	outlook := w.with.outlook(name, m)
	switch {
	case outlook.Asks && !m.Call.Reconciles:
		w.add("Its connector could not be asked when the call was made, but now it can. Pawl believes it if it says that "+
			"the call happened (its key is %s), and does not believe that it did not happen.", m.Key)
	case outlook.Asks && m.Call.Resends():
		w.add("To find out, the same call can also be sent again with the same key, which its host is configured to " +
			"recognise (reconcile.resend).")
	case outlook.Asks:
		w.add("Its connector can also be asked again; nothing is sent.")
	case m.Call.Reconciles && outlook.NotAsked != "":
		w.add("It cannot be asked about again: %s.", outlook.NotAsked)
	}
	switch {
	case outlook.MayTakeEffect && outlook.Until != 0:
		w.add("You can say that it did not happen from %s on: until then the call can still take effect.", outlook.Until)
	case outlook.MayTakeEffect:
		w.add("You can say that it did not happen once its exchange has ended, at most a few minutes after its deadline "+
			"(%s): until then the call can still take effect.", m.Deadline)
	}
	return resolutions(id, outlook)
}

// resolutions are the commands that the engine accepts for a mutation with this outlook, the most likely one first.
func resolutions(id string, outlook engine.Outlook) []string {
	var commands []string
	if outlook.Asks {
		commands = append(commands, fmt.Sprintf("pawl resolve %s --ask-again", id))
	}
	commands = append(commands, fmt.Sprintf("pawl resolve %s --happened", id))
	if !outlook.MayTakeEffect {
		commands = append(commands, fmt.Sprintf("pawl resolve %s --did-not-happen", id))
	}
	return append(commands, fmt.Sprintf("pawl resolve %s --skip", id))
}
