package foldtest

import (
	"slices"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

var failures = []eventlog.Failure{
	{Class: eventlog.Transient, Code: "connector.unavailable", Message: "the mail server is away"},
	{Class: eventlog.Logic, Code: "script.threw", Message: "x is not a function", Line: 7},
	{Class: eventlog.Internal, Code: "engine.fault", Message: "fault"},
}

func (h *History) prepare(run *projections.Run) {
	topic := In
	if run.Handler == Sink {
		topic = Out
	}
	h.Add(&eventlog.RunPrepared{Run: run.ID, Result: h.json("data"), UITitle: "Send mail",
		WakeAt: h.log.now.Add(time.Hour)})
	n := 0
	var chosen []*projections.TopicEvent
	for e := range h.State.Pending(topic) {
		if e.Visible(h.log.now) && n < 3 && h.chance(70) {
			chosen = append(chosen, e)
			n++
		}
	}
	for _, e := range chosen {
		h.Add(&eventlog.EventReserved{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
	}
	if n == 0 || run.Handler == Sink {
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseEmitting})
		return
	}
	h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutating})
}

func (h *History) call(run *projections.Run) {
	call := eventlog.MutationCall{Connector: "mail", Operation: "send", Params: h.json(map[string]string{"to": "a@b.c"}),
		ParamsHash: "00ff", UITitle: "Send mail", Reconciles: true, TimeoutMS: 30_000}
	id := eventlog.MutationID(run.ID)
	switch h.log.rand.IntN(4) {
	case 0:
		h.Add(&eventlog.MutationApprovalRequested{Mutation: id, Run: run.ID, Call: call})
		h.Add(&eventlog.RunSuspended{Run: run.ID})
		h.Add(&eventlog.WorkflowBlocked{Reason: eventlog.BlockApproval, Message: "approve", Run: run.ID})
	case 1:
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated})
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseEmitting})
	default:
		if h.State.Head.Revision%11 == 0 {
			f := failures[0]
			h.Add(&eventlog.MutationRefused{Mutation: id, Run: run.ID, Call: call, Failure: f})
			h.Add(&eventlog.RunFailed{Run: run.ID, Status: eventlog.RunStatusFailedLogic, Failure: f})
			h.endSession()
			h.release(run)
			return
		}
		h.Add(&eventlog.MutationStarted{Mutation: id, Run: run.ID, Call: call, Key: "k" + string(id),
			Deadline: h.log.now.Add(30 * time.Second), Engine: "e1"})
	}
}

func (h *History) approve(run *projections.Run, m *projections.Mutation) {
	if h.chance(60) {
		h.Add(&eventlog.MutationApproved{Mutation: m.ID, ParamsHash: m.Call.ParamsHash})
		h.Add(&eventlog.MutationStarted{Mutation: m.ID, Run: run.ID, Call: m.Call, Key: "k" + string(m.ID),
			Deadline: h.log.now.Add(30 * time.Second), Engine: "e2"})
		h.Add(&eventlog.RunReactivated{Run: run.ID, Engine: "e2"})
	} else {
		h.Add(&eventlog.MutationSkipped{Mutation: m.ID, Run: run.ID, ResolvedBy: eventlog.ResolvedByUserReject})
		h.skipReserved(run)
		h.Add(&eventlog.RunReactivated{Run: run.ID, Engine: "e2"})
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated})
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseEmitting})
	}
	h.Add(&eventlog.WorkflowUnblocked{})
}

func (h *History) skipReserved(run *projections.Run) {
	for _, e := range h.now().ReservedBy(h.now().Run(run.ID)) {
		h.Add(&eventlog.EventSkipped{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID,
			Reason: "skipped with its mutation"})
	}
}

// settle answers an open mutation, of the current run or of one that has ended.
func (h *History) settle(run *projections.Run, m *projections.Mutation) {
	current := h.State.Current == run.ID
	fault := failures[0]
	switch n := h.log.rand.IntN(6); {
	case n < 2:
		h.Add(&eventlog.MutationApplied{Mutation: m.ID, Run: run.ID, Result: h.json(map[string]string{"sent": "yes"})})
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated})
		if current {
			h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseEmitting})
		}
	case n == 2:
		h.Add(&eventlog.MutationFailed{Mutation: m.ID, Run: run.ID, Failure: fault})
		if current {
			h.Add(&eventlog.RunFailed{Run: run.ID, Status: eventlog.RunStatusPausedTransient, Failure: fault})
		}
		h.release(run)
		if h.State.PendingRetry == run.ID {
			h.Add(&eventlog.RetryCleared{Run: run.ID})
		}
	case current:
		h.Add(&eventlog.RunFailed{Run: run.ID, Status: eventlog.RunStatusPausedReconcile, Failure: fault})
		h.endSession()
		h.Add(&eventlog.MutationReconcileScheduled{Mutation: m.ID, Attempt: 1, At: h.log.now.Add(time.Second),
			Failure: fault})
		h.Add(&eventlog.RetryOwed{Run: run.ID})
	case n == 3 && m.Status != eventlog.MutationStatusIndeterminate:
		h.Add(&eventlog.MutationLeftIndeterminate{Mutation: m.ID, Failure: fault})
	case m.Status == eventlog.MutationStatusIndeterminate:
		h.Add(&eventlog.MutationSkipped{Mutation: m.ID, Run: run.ID, ResolvedBy: eventlog.ResolvedByUserSkip})
		h.skipReserved(run)
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated})
	case n == 4 && m.Status == eventlog.MutationStatusNeedsReconcile:
		h.Add(&eventlog.MutationResent{Mutation: m.ID, Attempt: m.ReconcileAttempts + 1, Engine: "e3",
			Deadline: h.log.now.Add(30 * time.Second), At: h.log.now.Add(31 * time.Second)})
	default:
		h.Add(&eventlog.MutationReconcileScheduled{Mutation: m.ID, Attempt: m.ReconcileAttempts + 1,
			At: h.log.now.Add(time.Second), Failure: fault})
	}
}

func (h *History) release(run *projections.Run) {
	for _, e := range h.now().ReservedBy(h.now().Run(run.ID)) {
		switch h.log.rand.IntN(4) {
		case 0:
			h.Add(&eventlog.EventDiscarded{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
		case 1:
			h.Add(&eventlog.EventRetryScheduled{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID,
				At: h.log.now.Add(time.Second), Uncounted: h.State.Head.Revision%2 == 0})
			h.Add(&eventlog.HandlerFailuresCounted{Handler: run.Handler, Runs: int(h.State.Head.Revision % 4)})
		default:
			h.Add(&eventlog.EventReleased{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
		}
	}
}

func (h *History) endSession() {
	if open := h.now().Session; open != "" {
		h.Add(&eventlog.SessionEnded{Session: open, Result: "failed"})
	}
}

// fail ends the run with a failure or a crash, and disposes of its events as R16 has it.
func (h *History) fail(run *projections.Run) {
	if h.chance(30) {
		h.Add(&eventlog.RunCrashed{Run: run.ID})
	} else {
		f := failures[h.log.rand.IntN(len(failures))]
		h.Add(&eventlog.RunFailed{Run: run.ID, Status: eventlog.RunStatusFailedLogic, Failure: f})
	}
	h.endSession()
	m := h.State.Mutation(run.Mutation)
	if m != nil && m.Status.Unresolved() || run.Phase.PastMutation() {
		h.Add(&eventlog.RetryOwed{Run: run.ID})
		return
	}
	h.release(run)
}

// finish is next and the commit.
func (h *History) finish(run *projections.Run) {
	causes := []eventlog.InputID{}
	for _, ref := range run.Reserved {
		if e := h.State.Event(ref.Topic, ref.MessageID); e != nil {
			for _, in := range e.CausedBy {
				if !slices.Contains(causes, in) {
					causes = append(causes, in)
				}
			}
		}
	}
	if len(causes) > 0 && h.chance(60) {
		h.publish(Out, run.ID, causes)
	}
	for _, e := range h.State.ReservedBy(run) {
		if e.SkipRequested {
			h.Add(&eventlog.EventSkipped{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
			continue
		}
		h.Add(&eventlog.EventConsumed{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
	}
	h.Add(&eventlog.HandlerWakeRequested{Handler: run.Handler, WakeAt: run.WakeAt})
	h.Add(&eventlog.HandlerCleaned{Handler: run.Handler})
	h.commit(run)
}

func (h *History) commit(run *projections.Run) {
	if h.chance(50) {
		h.Add(&eventlog.HandlerStateSaved{Handler: run.Handler, State: h.json(map[string]int{"seen": h.log.ids})})
	}
	h.Add(&eventlog.HandlerScheduled{Handler: Poll, NextRunAt: h.log.now.Add(5 * time.Minute)})
	h.Add(&eventlog.RunCommitted{Run: run.ID})
	if h.chance(40) {
		h.Add(&eventlog.SessionEnded{Session: h.now().Session, Result: "completed"})
	}
}

func (h *History) publish(topic eventlog.Topic, by eventlog.RunID, causes []eventlog.InputID) eventlog.MessageID {
	if causes == nil {
		causes = []eventlog.InputID{h.register()}
	}
	id := eventlog.MessageID(h.id("msg "))
	h.Add(&eventlog.EventPublished{Topic: topic, MessageID: id, Title: "Message " + string(id),
		Payload: h.json(map[string]any{"n": h.log.ids}), CreatedBy: by, CausedBy: causes})
	return id
}

func (h *History) register() eventlog.InputID {
	in := eventlog.InputID(h.id("I"))
	h.Add(&eventlog.InputRegistered{Input: in, Source: "push", Type: "mail", ExternalID: string(in), Title: "mail " +
		string(in)})
	return in
}
