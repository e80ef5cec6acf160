package foldtest

import (
	"fmt"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Each is the concurrent consumer of histories that have one; it subscribes to In and Side, and sometimes is a plain
// consumer for a version, while none of its runs is open.
const (
	Each eventlog.Handler = "each"
	Side eventlog.Topic   = "side"
)

// NewConcurrentHistory returns a workflow without a past on the log, whose scripts have a concurrent consumer.
func NewConcurrentHistory(log *Log, name eventlog.WorkflowName) *History {
	return &History{log: log, name: name, State: new(projections.State), concurrent: true}
}

// deployConcurrent adds a version with another key, or none, another number of places, and now and then a plain
// consumer instead.
func (h *History) deployConcurrent() {
	n := 0
	for range h.State.Scripts() {
		n++
	}
	c := eventlog.Consumer{Name: Each, Subscribe: []eventlog.Topic{In, Side}, HasMutate: true, HasNext: true,
		Concurrency: 1 + h.log.rand.IntN(4), Key: []string{"", "k", "k", "other.k"}[h.log.rand.IntN(4)]}
	if len(h.open()) == 0 && n > 0 && h.chance(20) {
		c.Concurrency, c.Key = 0, ""
	}
	if len(h.open()) == 0 && h.chance(20) {
		c.Subscribe = c.Subscribe[:1]
	}
	source := fmt.Sprintf("// version %d", n+1)
	h.Add(&eventlog.WorkflowDeployed{
		Version: eventlog.Version(fmt.Sprintf("%d.0", n+1)), Filename: "w.js", Source: source, SourceHash: source,
		Definition: eventlog.Definition{Topics: []eventlog.Topic{In, Side}, Consumers: []eventlog.Consumer{c}},
	})
}

func (h *History) open() (open []*projections.Run) {
	for run := range h.State.OpenRuns() {
		open = append(open, run)
	}
	return open
}

func (h *History) each() eventlog.Consumer {
	c, _ := h.State.Definition().Consumer(Each)
	return c
}

// moveConcurrent adds what may happen next to one of the open runs, or beside them.
func (h *History) moveConcurrent() {
	if h.chance(40) {
		h.asideConcurrent()
		return
	}
	open := h.open()
	if c := h.each(); c.Concurrent() && (len(open) == 0 || h.chance(40)) {
		for from := range h.State.Offered(c, h.chance(40), h.log.now) {
			h.begin(h.State.PendingAt(from.Topic, from.Created))
			return
		}
	}
	if len(open) == 0 {
		h.publishKeyed()
		return
	}
	run := open[h.log.rand.IntN(len(open))]
	event := h.State.Event(run.Event.Topic, run.Event.MessageID)
	m := h.State.Mutation(run.Mutation)
	switch {
	case run.Status == eventlog.RunStatusActive:
		h.advanceConcurrent(run, m)
	case run.EndedAt == 0 && m.Status == eventlog.MutationStatusAwaitingApproval && m.ApprovedAt == 0:
		h.answer(run, m)
	case run.EndedAt == 0 && m.Status == eventlog.MutationStatusAwaitingApproval:
		h.Add(&eventlog.RunReactivated{Run: run.ID, Engine: "e2"})
		h.Add(&eventlog.MutationStarted{Mutation: m.ID, Run: run.ID, Call: m.Call, Key: "k", Engine: "e2",
			Deadline: h.log.now.Add(30 * time.Second)})
	case run.EndedAt == 0:
		h.Add(&eventlog.RunReactivated{Run: run.ID, Engine: "e2"})
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseEmitting})
	case m != nil && m.Status.Unresolved():
		h.ask(run, m)
	case event.Held != nil:
		h.Add(&eventlog.EventFreed{Topic: event.Topic, MessageID: event.MessageID})
	default:
		h.retry(run, event)
	}
}

func (h *History) begin(e *projections.TopicEvent) {
	run := eventlog.RunID(h.id("R"))
	h.Add(&eventlog.RunStarted{
		Run: run, Handler: Each, HandlerType: eventlog.ConsumerHandler, Version: h.State.Version, Engine: "e1",
		Phase: eventlog.PhasePreparing, Event: &eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID},
		Key: projections.EventKeyAt(h.each().Key, e.Payload),
	})
	h.Add(&eventlog.EventReserved{Topic: e.Topic, MessageID: e.MessageID, Run: run})
}

func (h *History) retry(first *projections.Run, e *projections.TopicEvent) {
	run := eventlog.RunID(h.id("R"))
	h.Add(&eventlog.RunStarted{
		Run: run, Handler: Each, HandlerType: eventlog.ConsumerHandler, Version: h.State.Version, Engine: "e1",
		Phase: eventlog.PhaseEmitting, RetryOf: first.ID, Event: first.Event,
		Key: projections.EventKeyAt(h.each().Key, e.Payload),
	})
	if e.Status == eventlog.EventStatusReserved {
		h.Add(&eventlog.EventTransferred{Topic: e.Topic, MessageID: e.MessageID, Run: run})
	}
	h.Add(&eventlog.RunRetryCleared{Run: first.ID})
}

func (h *History) advanceConcurrent(run *projections.Run, m *projections.Mutation) {
	topic, id := run.Event.Topic, run.Event.MessageID
	switch {
	case run.Phase == eventlog.PhasePreparing && h.chance(15):
		h.Add(&eventlog.RunCrashed{Run: run.ID})
		h.Add(&eventlog.EventReleased{Topic: topic, MessageID: id, Run: run.ID, Uncounted: true})
	case run.Phase == eventlog.PhasePreparing && h.chance(20):
		h.Add(&eventlog.RunPrepared{Run: run.ID, Result: h.json("none")})
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseEmitting})
		h.Add(&eventlog.EventDeferred{Topic: topic, MessageID: id, Run: run.ID, Until: h.log.now.Add(8 * time.Second)})
		h.Add(&eventlog.RunCommitted{Run: run.ID})
	case (m == nil || m.Status.Final()) && h.chance(35):
		h.failConcurrent(run)
	case run.Phase == eventlog.PhasePreparing:
		h.Add(&eventlog.RunPrepared{Run: run.ID, Result: h.json("data"), UITitle: "Send"})
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutating})
	case run.Phase == eventlog.PhaseMutating && m == nil:
		h.callConcurrent(run)
	case run.Phase == eventlog.PhaseMutating:
		h.answerCall(run, m)
	default:
		if e := h.State.Event(topic, id); e.Status == eventlog.EventStatusReserved {
			h.Add(&eventlog.EventConsumed{Topic: topic, MessageID: id, Run: run.ID})
		}
		h.Add(&eventlog.RunCommitted{Run: run.ID})
	}
}

// failConcurrent ends the run, and does to its event what C5 says of some failure.
func (h *History) failConcurrent(run *projections.Run) {
	topic, id := run.Event.Topic, run.Event.MessageID
	f := failures[h.log.rand.IntN(len(failures))]
	h.Add(&eventlog.RunFailed{Run: run.ID, Status: eventlog.RunStatusFailedLogic, Failure: f})
	if run.Phase.PastMutation() {
		h.Add(&eventlog.RunRetryOwed{Run: run.ID, At: h.log.now.Add(time.Second), Attempt: run.Tries + 1,
			Attention: run.Tries > 0})
		if e := h.State.Event(topic, id); e.Status == eventlog.EventStatusReserved && h.chance(50) {
			h.Add(&eventlog.EventHeld{Topic: topic, MessageID: id, Run: run.ID, Reason: eventlog.HeldPerson})
		}
		return
	}
	switch h.log.rand.IntN(4) {
	case 0:
		h.Add(&eventlog.EventReleased{Topic: topic, MessageID: id, Run: run.ID})
		h.Add(&eventlog.EventHeld{Topic: topic, MessageID: id, Run: run.ID, Reason: eventlog.HeldRepair})
	case 1:
		h.Add(&eventlog.EventDiscarded{Topic: topic, MessageID: id, Run: run.ID})
	default:
		h.Add(&eventlog.EventRetryScheduled{Topic: topic, MessageID: id, Run: run.ID, Uncounted: h.chance(50),
			At: h.log.now.Add(time.Duration(h.log.rand.IntN(20)) * time.Second), Attention: h.chance(30)})
	}
}

func (h *History) callConcurrent(run *projections.Run) {
	call := eventlog.MutationCall{Connector: "mail", Operation: "send", Params: h.json("p"), ParamsHash: "00ff",
		Reconciles: true, TimeoutMS: 30_000}
	id := eventlog.MutationID(run.ID)
	if h.chance(30) {
		h.Add(&eventlog.MutationApprovalRequested{Mutation: id, Run: run.ID, Call: call})
		h.Add(&eventlog.RunSuspended{Run: run.ID})
		h.Add(&eventlog.EventHeld{Topic: run.Event.Topic, MessageID: run.Event.MessageID, Run: run.ID,
			Reason: eventlog.HeldApproval})
		return
	}
	h.Add(&eventlog.MutationStarted{Mutation: id, Run: run.ID, Call: call, Key: "k", Engine: "e1",
		Deadline: h.log.now.Add(30 * time.Second)})
}

// answer is a person's word on a call that awaits it.
func (h *History) answer(run *projections.Run, m *projections.Mutation) {
	topic, id := run.Event.Topic, run.Event.MessageID
	if h.chance(50) {
		h.Add(&eventlog.MutationApproved{Mutation: m.ID, ParamsHash: m.Call.ParamsHash})
		h.Add(&eventlog.EventFreed{Topic: topic, MessageID: id})
		return
	}
	h.Add(&eventlog.MutationSkipped{Mutation: m.ID, Run: run.ID, ResolvedBy: eventlog.ResolvedByUserReject})
	h.Add(&eventlog.EventSkipped{Topic: topic, MessageID: id, Run: run.ID})
	h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated})
}

func (h *History) answerCall(run *projections.Run, m *projections.Mutation) {
	topic, id := run.Event.Topic, run.Event.MessageID
	switch h.log.rand.IntN(3) {
	case 0:
		h.Add(&eventlog.MutationApplied{Mutation: m.ID, Run: run.ID, Result: h.json("sent")})
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated})
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseEmitting})
	case 1:
		h.Add(&eventlog.MutationFailed{Mutation: m.ID, Run: run.ID, Failure: failures[0]})
		h.failConcurrent(run)
	default:
		h.Add(&eventlog.RunFailed{Run: run.ID, Status: eventlog.RunStatusPausedReconcile, Failure: failures[0]})
		h.Add(&eventlog.MutationReconcileScheduled{Mutation: m.ID, At: h.log.now.Add(time.Second), Failure: failures[0]})
		h.Add(&eventlog.RunRetryOwed{Run: run.ID})
		h.Add(&eventlog.EventHeld{Topic: topic, MessageID: id, Run: run.ID, Reason: eventlog.HeldReconcile})
		h.Add(&eventlog.HandlerUncertainCounted{Handler: Each, Mutations: []eventlog.MutationID{m.ID}})
	}
}

// ask goes on with a call whose outcome is not known.
func (h *History) ask(run *projections.Run, m *projections.Mutation) {
	topic, id := run.Event.Topic, run.Event.MessageID
	switch n := h.log.rand.IntN(5); {
	case n == 0 && m.Status != eventlog.MutationStatusIndeterminate:
		h.Add(&eventlog.MutationLeftIndeterminate{Mutation: m.ID, Failure: failures[0]})
		h.Add(&eventlog.EventHeld{Topic: topic, MessageID: id, Run: run.ID, Reason: eventlog.HeldIndeterminate})
	case n <= 1:
		h.Add(&eventlog.MutationReconcileScheduled{Mutation: m.ID, Attempt: m.ReconcileAttempts + 1,
			At: h.log.now.Add(time.Second), Failure: failures[0]})
	case n == 2:
		h.Add(&eventlog.MutationApplied{Mutation: m.ID, Run: run.ID, Result: h.json("sent")})
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated})
		h.Add(&eventlog.EventFreed{Topic: topic, MessageID: id})
	case n == 3:
		h.Add(&eventlog.MutationSkipped{Mutation: m.ID, Run: run.ID, ResolvedBy: eventlog.ResolvedByUserSkip})
		h.Add(&eventlog.EventSkipped{Topic: topic, MessageID: id, Run: run.ID})
		h.Add(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated})
	default:
		h.Add(&eventlog.MutationFailed{Mutation: m.ID, Run: run.ID, Failure: failures[0]})
		h.Add(&eventlog.EventRetryScheduled{Topic: topic, MessageID: id, Run: run.ID, At: h.log.now.Add(time.Second)})
		h.Add(&eventlog.RunRetryCleared{Run: run.ID})
	}
}

func (h *History) publishKeyed() {
	topic := In
	if h.chance(30) {
		topic = Side
	}
	id := eventlog.MessageID(h.id("msg "))
	h.Add(&eventlog.EventPublished{Topic: topic, MessageID: id, Title: "Message " + string(id), Payload: h.keyed(),
		CausedBy: []eventlog.InputID{h.register()}})
}

func (h *History) keyed() []byte {
	return h.json([]any{
		map[string]any{"k": h.log.rand.IntN(3), "other": map[string]int{"k": h.log.rand.IntN(2)}},
		map[string]any{"k": h.log.rand.IntN(3)},
		map[string]any{"none": true},
	}[h.log.rand.IntN(3)])
}

// asideConcurrent adds what the outside, people and the target's state may do meanwhile.
func (h *History) asideConcurrent() {
	var e *projections.TopicEvent
	if events := h.ordered(); len(events) > 0 {
		e = events[h.log.rand.IntN(len(events))]
	}
	n := h.log.rand.IntN(16)
	if e == nil || n < 6 {
		h.publishKeyed()
		return
	}
	switch {
	case n == 6:
		h.Add(&eventlog.EventRepublished{Topic: e.Topic, MessageID: e.MessageID, Title: e.Title + "!", Payload: h.keyed(),
			CausedBy: e.CausedBy})
	case n < 10 && e.Held != nil && e.Status == eventlog.EventStatusPending && h.chance(40):
		h.Add(&eventlog.EventRedriven{Topic: e.Topic, MessageID: e.MessageID})
	case n < 10 && e.Status == eventlog.EventStatusPending && (e.Held != nil || e.ScheduledAt != 0):
		h.Add(&eventlog.EventFreed{Topic: e.Topic, MessageID: e.MessageID, Uncounted: e.Held == nil && e.Tries > 0})
	case n < 10 && (e.Status == eventlog.EventStatusSkipped || e.Status == eventlog.EventStatusDiscarded):
		if !h.State.Open(e.ReservedBy) {
			h.Add(&eventlog.EventRedriven{Topic: e.Topic, MessageID: e.MessageID})
			return
		}
		h.publishKeyed()
	case n == 10 && e.Status == eventlog.EventStatusPending:
		h.Add(&eventlog.EventSkipped{Topic: e.Topic, MessageID: e.MessageID})
	case n == 11:
		h.deployConcurrent()
	case n == 12:
		h.Add(&eventlog.HandlerStreakCounted{Handler: Each, Class: eventlog.Transient, Began: h.State.Head.Revision,
			Events: []eventlog.EventRef{{Topic: e.Topic, MessageID: e.MessageID}}})
	case n == 13:
		h.Add(&eventlog.HandlerProbeScheduled{Handler: Each, Class: eventlog.Transient, Message: "away", Attempt: 1,
			At: h.log.now.Add(time.Second), Attention: h.chance(50)})
	case n == 14:
		h.Add(&eventlog.HandlerProbingEnded{Handler: Each})
		h.Add(&eventlog.HandlerStreakCounted{Handler: Each})
	default:
		h.Add(&eventlog.HandlerRepairCounted{Handler: Each, Failures: h.log.rand.IntN(2)})
	}
}
