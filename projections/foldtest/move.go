package foldtest

import (
	"maps"
	"slices"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// aside adds something that is recorded whatever the workflow is doing.
func (h *History) aside() {
	events := h.ordered()
	var e *projections.TopicEvent
	if len(events) > 0 {
		e = events[h.log.rand.IntN(len(events))]
	}
	switch h.log.rand.IntN(12) {
	case 0, 1:
		h.publish(In, "", nil)
	case 2:
		id := h.publish(In, "", nil)
		h.Add(&eventlog.EventTraced{Topic: In, MessageID: id, Traceparent: h.id("trace ")})
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
		} else if h.State.Head.Revision%4 == 0 {
			h.Add(&eventlog.LogRestored{From: "a backup", TakenAt: 1, Generation: "g"})
		} else {
			h.Add(&eventlog.WorkflowPaused{})
		}
	case 5:
		if e != nil && e.Status == eventlog.EventStatusPending && h.State.Head.Revision%5 == 0 {
			h.giveUp(e)
			return
		}
		if e != nil && e.Status == eventlog.EventStatusPending {
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
		Status: eventlog.MutationStatusInFlight, StartedAt: h.log.now,
	})
}

func (h *History) start(retry *projections.Run) {
	s := h.State
	if s.Session == "" {
		h.Add(&eventlog.SessionStarted{Session: eventlog.SessionID(h.id("S"))})
	}
	r := &eventlog.RunStarted{Run: eventlog.RunID(h.id("R")), Version: s.Version, Session: h.now().Session, Engine: "e1"}
	switch {
	case retry != nil:
		r.Handler, r.HandlerType, r.Phase, r.RetryOf = retry.Handler, retry.Type, eventlog.PhaseEmitting, retry.ID
		reserved := s.ReservedBy(retry)
		h.Add(r)
		for _, e := range reserved {
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
	case m != nil && m.Status == eventlog.MutationStatusAwaitingApproval:
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
