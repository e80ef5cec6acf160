package explain

import (
	"fmt"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Turns says which calls of the workflow have not left yet because they wait for their turn: the configuration bounds
// the calls to their target. The calls are in the order of their targets.
func (w *Why) Turns(s *projections.State, calls []connector.Waiting) {
	defer w.compose()
	m := awaited(s, w)
	for len(calls) > 0 {
		first := calls[0]
		n := 1
		for n < len(calls) && calls[n].Target == first.Target && calls[n].Bound == first.Bound {
			if until := calls[n].Until; until.Before(first.Until) {
				first.Until = until
			}
			n++
		}
		turn := fmt.Sprintf("%s (%s)", first.Target, first.Bound)
		if first.Setting != "" {
			turn = fmt.Sprintf("%s (%s, %s)", first.Target, first.Bound, first.Setting)
		}
		next := ""
		if !first.Until.IsZero() {
			next = fmt.Sprintf("; the next turn is at %s", eventlog.At(first.Until))
		}
		switch {
		case n == 1 && m != nil && m.Key == first.Key:
			// The first part has said that this call was sent. It was not, so that sentence is replaced.
			w.parts[0].set("%s has not been sent: it waits for its turn at %s%s. If its turn does not come by %s, the call is "+
				"not sent and is tried again later.", callName(s, m), turn, next, m.Deadline)
		default:
			w.begin(PartTurn)
			w.add("%s of it %s for %s turn at %s%s.", eventlog.Count(n, "call"), number(n, "waits", "wait"),
				number(n, "its", "their"), turn, next)
		}
		calls = calls[n:]
	}
}

// awaited is the mutation whose answer is awaited, as the explanation says; nil for none.
func awaited(s *projections.State, w *Why) *projections.Mutation {
	if !w.Moving || w.Subject == nil {
		return nil
	}
	return s.Mutation(eventlog.MutationID(*w.Subject))
}
