package foldtest

import (
	"maps"
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

// move adds what may happen next: mostly work on the current run, sometimes something beside it.
func (h *History) move() {
	if h.chance(30) {
		h.aside()
		return
	}
	s := &h.State
	retry := s.RetryRun()
	switch run := s.CurrentRun(); {
	case run != nil:
		h.advance(run)
	case retry != nil && s.Mutation(retry.Mutation) != nil && s.Mutation(retry.Mutation).Status.Unresolved():
		h.settle(retry, s.Mutation(retry.Mutation))
	default:
		h.start(retry)
	}
}

// aside adds something that is recorded whatever the workflow is doing.
func (h *History) aside() {
	events := h.ordered()
	var e *projections.TopicEvent
	if len(events) > 0 {
		e = events[h.log.rand.IntN(len(events))]
	}
	switch h.log.rand.IntN(12) {
	case 0, 1, 2:
		h.publish(In, "", nil)
	case 3:
		if e == nil {
			h.publish(Out, "", nil)
			return
		}
		if len(e.CausedBy) > 0 {
			h.Add(&eventlog.InputRetitled{Input: e.CausedBy[0], Title: e.Title + "!"})
		}
		in := h.register()
		h.Add(&eventlog.EventRepublished{Topic: e.Topic, MessageID: e.MessageID, Title: e.Title + "!",
			Payload: h.json("again"), CausedBy: []eventlog.InputID{in}})
	case 4:
		if h.State.Pause != nil {
			h.Add(&eventlog.WorkflowResumed{})
		} else {
			h.Add(&eventlog.WorkflowPaused{})
		}
	case 5:
		if e != nil && e.Status == eventlog.EventPending && h.State.Head.Revision%5 == 0 {
			h.giveUp(e)
			return
		}
		if e != nil && e.Status == eventlog.EventPending {
			h.Add(&eventlog.EventSkipped{Topic: e.Topic, MessageID: e.MessageID, Reason: "not wanted"})
			return
		}
		if e != nil && e.Status == eventlog.EventStatusReserved {
			h.Add(&eventlog.EventSkipRequested{Topic: e.Topic, MessageID: e.MessageID})
			return
		}
		h.publish(Out, "", nil)
	case 6, 7:
		for _, e := range events {
			if e.Status == eventlog.EventStatusSkipped || e.Status == eventlog.EventStatusDiscarded {
				h.Add(&eventlog.EventRedriven{Topic: e.Topic, MessageID: e.MessageID})
				return
			}
		}
		h.Add(&eventlog.WorkflowGranted{Grants: map[string]eventlog.Grant{"mail.send": eventlog.GrantAsk}})
	case 8:
		h.deploy()
	case 9:
		if h.State.Blocked != nil {
			h.Add(&eventlog.WorkflowUnblocked{})
			h.Add(&eventlog.BackoffCleared{})
			return
		}
		h.Add(&eventlog.WorkflowBlocked{Reason: eventlog.BlockInternal, Message: "held"})
		h.Add(&eventlog.BackoffStarted{Attempt: 2, Until: h.log.now.Add(time.Minute),
			Attention: h.State.Head.Revision%2 == 0})
	case 10:
		if h.State.Maintenance != nil {
			h.Add(&eventlog.MaintenanceLeft{})
			h.Add(&eventlog.RepairCounted{})
			return
		}
		h.Add(&eventlog.MaintenanceEntered{Run: h.State.Current})
		h.Add(&eventlog.RepairCounted{Failures: 1})
	default:
		for id, m := range h.State.Mutations() {
			if m.Status.Final() && h.chance(50) {
				h.Add(&eventlog.MutationContradicted{Mutation: id, Outcome: "applied"})
				h.Add(&eventlog.MutationCommented{Mutation: id, Comment: "seen"})
				return
			}
		}
		h.Add(&eventlog.HandlerDirtied{Handler: Work})
	}
}

// ordered lists all events, the oldest first.
func (h *History) ordered() []*projections.TopicEvent {
	events := slices.Collect(maps.Values(maps.Collect(h.State.Events())))
	slices.SortFunc(events, func(a, b *projections.TopicEvent) int {
		if a.Created.Before(b.Created) {
			return -1
		}
		return 1
	})
	return events
}

// giveUp is what an accepted loss comes to: the event, one that was not known, and a call.
func (h *History) giveUp(e *projections.TopicEvent) {
	h.Add(&eventlog.EventGivenUp{Topic: e.Topic, MessageID: e.MessageID, Title: e.Title, Payload: e.Payload,
		Status: eventlog.EventStatusSkipped, Unknown: true, Reason: "lost"})
	h.Add(&eventlog.EventGivenUp{Topic: e.Topic, MessageID: eventlog.MessageID(h.id("msg ")), Title: "lost",
		Payload: h.json("lost"), Status: eventlog.EventStatusConsumed, Reason: "lost"})
	h.Add(&eventlog.MutationGivenUp{
		Mutation: eventlog.MutationID(h.id("R")), Run: "lost", Call: eventlog.MutationCall{Connector: "mail",
			Operation: "send", Params: h.json("lost")},
		Status: eventlog.MutationInFlight, StartedAt: h.log.now,
	})
}

func (h *History) register() eventlog.InputID {
	in := eventlog.InputID(h.id("I"))
	h.Add(&eventlog.InputRegistered{Input: in, Source: "push", Type: "mail", ExternalID: string(in), Title: "mail " +
		string(in)})
	return in
}

func (h *History) publish(topic eventlog.Topic, by eventlog.RunID, causes []eventlog.InputID) {
	if causes == nil {
		causes = []eventlog.InputID{h.register()}
	}
	id := eventlog.MessageID(h.id("msg "))
	h.Add(&eventlog.EventPublished{Topic: topic, MessageID: id, Title: "Message " + string(id),
		Payload: h.json(map[string]any{"n": h.log.ids}), CreatedBy: by, CausedBy: causes})
}

func (h *History) start(retry *projections.Run) {
	s := &h.State
	if s.Session == "" {
		h.Add(&eventlog.SessionStarted{Session: eventlog.SessionID(h.id("S"))})
	}
	r := &eventlog.RunStarted{Run: eventlog.RunID(h.id("R")), Version: s.Version, Session: h.now().Session, Engine: "e1"}
	switch {
	case retry != nil:
		r.Handler, r.HandlerType, r.Phase, r.RetryOf = retry.Handler, retry.Type, eventlog.PhaseEmitting, retry.ID
		held := s.Held(retry)
		h.Add(r)
		for _, e := range held {
			h.Add(&eventlog.EventTransferred{Topic: e.Topic, MessageID: e.MessageID, Run: r.Run})
		}
		h.Add(&eventlog.RetryCleared{Run: retry.ID})
		return
	case h.chance(20):
		r.Handler, r.HandlerType, r.Phase = Poll, eventlog.ProducerHandler, eventlog.PhasePending
		h.Add(r)
		h.Add(&eventlog.RunAdvanced{Run: r.Run, Phase: eventlog.PhaseExecuting})
		return
	case h.chance(50) && h.State.Subscribed(Out):
		r.Handler = Sink
	default:
		r.Handler = Work
	}
	r.HandlerType, r.Phase = eventlog.ConsumerHandler, eventlog.PhasePreparing
	h.Add(r)
}

func (h *History) advance(run *projections.Run) {
	m := h.State.Mutation(run.Mutation)
	switch {
	case m != nil && m.Status == eventlog.MutationAwaitingApproval:
		h.approve(run, m)
	case h.chance(12):
		h.fail(run)
	case run.Phase == eventlog.PhaseExecuting:
		for range h.log.rand.IntN(3) {
			h.publish(In, run.ID, nil)
		}
		h.commit(run)
	case run.Phase == eventlog.PhasePreparing:
		h.prepare(run)
	case run.Phase == eventlog.PhaseMutating && m == nil:
		h.call(run)
	case run.Phase == eventlog.PhaseMutating:
		h.settle(run, m)
	default:
		h.finish(run)
	}
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
			h.Add(&eventlog.RunFailed{Run: run.ID, Status: eventlog.RunFailedLogic, Failure: f})
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
		h.skipHeld(run)
		h.Add(&eventlog.RunReactivated{Run: run.ID, Engine: "e2"})
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated})
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseEmitting})
	}
	h.Add(&eventlog.WorkflowUnblocked{})
}

func (h *History) skipHeld(run *projections.Run) {
	for _, e := range h.now().Held(h.now().Run(run.ID)) {
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
			h.Add(&eventlog.RunFailed{Run: run.ID, Status: eventlog.RunPausedTransient, Failure: fault})
		}
		h.release(run)
		if h.State.PendingRetry == run.ID {
			h.Add(&eventlog.RetryCleared{Run: run.ID})
		}
	case current:
		h.Add(&eventlog.RunFailed{Run: run.ID, Status: eventlog.RunPausedReconcile, Failure: fault})
		h.endSession()
		h.Add(&eventlog.MutationReconcileScheduled{Mutation: m.ID, Attempt: 1, At: h.log.now.Add(time.Second),
			Failure: fault})
		h.Add(&eventlog.RetryOwed{Run: run.ID})
	case n == 3 && m.Status != eventlog.MutationIndeterminate:
		h.Add(&eventlog.MutationLeftIndeterminate{Mutation: m.ID, Failure: fault})
	case m.Status == eventlog.MutationIndeterminate:
		h.Add(&eventlog.MutationSkipped{Mutation: m.ID, Run: run.ID, ResolvedBy: eventlog.ResolvedByUserSkip})
		h.skipHeld(run)
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated})
	default:
		h.Add(&eventlog.MutationReconcileScheduled{Mutation: m.ID, Attempt: m.ReconcileAttempts + 1,
			At: h.log.now.Add(time.Second), Failure: fault})
	}
}

func (h *History) release(run *projections.Run) {
	for _, e := range h.now().Held(h.now().Run(run.ID)) {
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
		h.Add(&eventlog.RunFailed{Run: run.ID, Status: eventlog.RunFailedLogic, Failure: f})
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
	for _, e := range h.State.Held(run) {
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
