package decide

import (
	"time"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Asking is how it can be found out now what became of a call, by the configuration as it is now.
type Asking struct {
	// Present says that the operation of the call is there now.
	Present bool
	// Reconciles says that there is a way to find out what became of such a call.
	Reconciles bool
	// Resends is for how long after its start such a call may be sent again to find out; 0 where its connector is asked.
	Resends time.Duration
}

// CannotAskAgain says why nothing would come of trying again to find out what became of the mutation's call (O3); nil
// where something may. Both the refusal and what is offered to a person come from here.
func CannotAskAgain(s *projections.State, m *projections.Mutation, how Asking, attempts int,
	now eventlog.Instant) *Refusal {
	no := func(format string, args ...any) *Refusal {
		return refuse(Conflict, "mutation.noReconcile", format, args...).hint(hint.FindOut, m.ID)
	}
	call := m.Call.Connector + "." + m.Call.Operation
	switch {
	case !how.Present:
		return no("%s is not there now, so nothing can say what became of its call; it has to be there first", call)
	case !how.Reconciles && m.Call.Reconciles:
		return no("%s cannot be asked any more what became of its call: the reconcile with which the call was made is not "+
			"configured now, and would have to be put back", call)
	case !how.Reconciles:
		return no("%s cannot be asked what became of it", call)
	case attempts <= 0:
		return no("policies.reconcile.attempts is 0: it is never asked what became of a call")
	case how.Resends > 0 && !m.Call.Resends():
		return no("the host of %s is not asked: its calls are sent again (reconcile.resend), and this one was made before "+
			"that was configured", call)
	case how.Resends == 0 && m.Call.Resends():
		return no("this call of %s can only be sent again (reconcile.resend), which its host is not configured for any "+
			"more; that would have to be put back", call)
	case !m.Call.Resends():
		return nil
	}
	if why := notResent(s, m, how.Resends, now); why != "" {
		return no("the call is not sent again, since %s", why)
	}
	return nil
}

// notResent says why the call is never sent again, now or later; empty where it may be (F5). promised is for how long
// after its start the other side knows its key.
func notResent(s *projections.State, m *projections.Mutation, promised time.Duration, now eventlog.Instant) string {
	promised = min(promised, time.Duration(m.Call.ResendMS)*time.Millisecond)
	switch {
	case s.Archived:
		return "the workflow is archived"
	case m.StartedAt > now.Add(ReconcileMargin):
		return "by this machine's clock its start lies ahead"
	case m.StartedAt.Add(promised-ResendMargin) <= now:
		return "reconcile.within of its host has passed"
	}
	return ""
}
