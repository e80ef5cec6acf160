package projections

import (
	"encoding/binary"
	"iter"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// State is one workflow's fold. The zero State is that of a workflow that does not exist. A State is large, so the fold
// passes it by pointer. One that was returned never changes, except that of a Draft: see the
// package comment.
type State struct {
	Workflow
	// Touched lists the entities that the last Apply changed, and those that became live or finished by it. Parked lists
	// the pending events whose topic got or lost its consumer, and the keys of those topics; they are not in Touched.
	Touched []Key
	Parked  []Key
	// touched is the set of what is in Touched, once that is long: see addKey.
	touched map[Key]struct{}

	handlers  recent[eventlog.Handler, *Handler]
	runs      recent[eventlog.RunID, *Run]
	events    recent[string, *TopicEvent]
	mutations recent[eventlog.MutationID, *Mutation]
	inputs    recent[eventlog.InputID, *Input]
	sessions  recent[eventlog.SessionID, *Session]
	scripts   table[eventlog.Version, *Script]
	// queues orders the pending events of each topic by place in the log, also those that are not in
	// events because they are paged out.
	queues queues
	// pending has those of them that are in events, by topic and place.
	pending recent[string, *TopicEvent]
	// scheduled orders the pending events that J2 hides by the time they come due.
	scheduled table[string, struct{}]
	// lanes and openRuns are those of concurrent consumers; rekeyed has the keys that were read for a deploy.
	lanes    lanes
	openRuns openRuns
	rekeyed  map[Key]map[Ordinal]uint64
	// partial says that not all of the workflow's past is in memory. answered has keys that were read and have no row,
	// and queues that were read. missing takes what a fold misses, nil outside a fold.
	partial  bool
	answered map[Key]struct{}
	missing  *Missing
}

// Exists reports whether anything has happened to the workflow.
func (s *State) Exists() bool { return s.Head.Revision > 0 }

// Script returns the version's script, if it is in memory.
func (s *State) Script(v eventlog.Version) *Script {
	e, ok := s.scripts.get(v)
	if !ok && s.missing != nil {
		s.miss(ScriptKey(v))
	}
	return e
}

// Definition returns the current version's definition; empty before the first deploy.
func (s *State) Definition() *eventlog.Definition {
	if script := s.Script(s.Version); script != nil {
		return &script.Definition
	}
	return &eventlog.Definition{}
}

// Handler returns the handler's record, or nil.
func (s *State) Handler(name eventlog.Handler) *Handler { e, _ := s.handlers.get(name); return e }

// Run returns the run, or nil when it is not in memory.
func (s *State) Run(id eventlog.RunID) *Run {
	e, ok := s.runs.get(id)
	if !ok && s.missing != nil {
		s.miss(RunKey(id))
	}
	return e
}

// CurrentRun returns the plain run that is active or awaits an approval, or nil.
func (s *State) CurrentRun() *Run { return s.Run(s.Current) }

// RetryRun returns the ended plain run that owes a retry or a settlement, or nil.
func (s *State) RetryRun() *Run { return s.Run(s.PendingRetry) }

// Mutation returns the ledger record, or nil when it is not in memory.
func (s *State) Mutation(id eventlog.MutationID) *Mutation {
	e, ok := s.mutations.get(id)
	if !ok && s.missing != nil {
		s.miss(MutationKey(id))
	}
	return e
}

// Event returns the topic event, or nil when it is not in memory: unknown, finished or paged out.
func (s *State) Event(topic eventlog.Topic, id eventlog.MessageID) *TopicEvent {
	return s.eventAt(EventKey(topic, id))
}

func (s *State) eventAt(k Key) *TopicEvent {
	e, ok := s.events.get(k.ID)
	if !ok && s.missing != nil {
		s.miss(k)
	}
	return e
}

// Input returns the input, or nil when it is not in memory.
func (s *State) Input(id eventlog.InputID) *Input {
	e, ok := s.inputs.get(id)
	if !ok && s.missing != nil {
		s.miss(InputKey(id))
	}
	return e
}

// OpenSession returns the session that has not ended, or nil.
func (s *State) OpenSession() *Session { e, _ := s.sessions.get(s.Session); return e }

// Handlers yields the handlers by name.
func (s *State) Handlers() iter.Seq2[eventlog.Handler, *Handler] { return s.handlers.all() }

// Runs yields the runs in memory.
func (s *State) Runs() iter.Seq2[eventlog.RunID, *Run] { return s.runs.all() }

// Events yields the topic events in memory by topic and message id.
func (s *State) Events() iter.Seq2[string, *TopicEvent] { return s.events.all() }

// Mutations yields the mutations in memory.
func (s *State) Mutations() iter.Seq2[eventlog.MutationID, *Mutation] { return s.mutations.all() }

// Inputs yields the inputs in memory.
func (s *State) Inputs() iter.Seq2[eventlog.InputID, *Input] { return s.inputs.all() }

// Sessions yields the sessions in memory.
func (s *State) Sessions() iter.Seq2[eventlog.SessionID, *Session] { return s.sessions.all() }

// Scripts yields the script versions in memory.
func (s *State) Scripts() iter.Seq2[eventlog.Version, *Script] { return s.scripts.all() }

// Visible reports whether the pending event can be peeked and reserved at now (J2).
func (e *TopicEvent) Visible(now eventlog.Instant) bool {
	return e.Status == eventlog.EventStatusPending && e.ScheduledAt <= now
}

// ReservedBy lists the events that the run still has reserved, in the order it reserved them.
func (s *State) ReservedBy(run *Run) []*TopicEvent {
	if run == nil {
		return nil
	}
	var reserved []*TopicEvent
	for _, ref := range run.Reserved {
		if e := s.Event(ref.Topic, ref.MessageID); e != nil && e.Status == eventlog.EventStatusReserved &&
			e.ReservedBy == run.ID {
			reserved = append(reserved, e)
		}
	}
	return reserved
}

// forked returns a copy that may be changed without a change of the origin.
func (s *State) forked() *State {
	next := new(State)
	s.forkInto(next)
	return next
}

func (s *State) forkInto(next *State) {
	*next = *s
	next.Touched, next.Parked, next.touched = nil, nil, nil
	next.handlers.fork()
	next.runs.fork()
	next.events.fork()
	next.mutations.fork()
	next.inputs.fork()
	next.sessions.fork()
	next.scripts.fork()
	next.queues.fork()
	next.pending.fork()
	next.scheduled.fork()
	next.lanes.fork()
	next.openRuns.fork()
}

func (s *State) touch(k Key) {
	if s.Touched == nil {
		s.Touched = make([]Key, 0, 8)
	}
	s.Touched = addKey(s.Touched, &s.touched, k)
}

// Queue yields the places of the topic's pending events, oldest first, also of those that J2 still
// hides; of a topic without a subscriber only those in memory.
func (s *State) Queue(topic eventlog.Topic) iter.Seq[Queued] {
	return func(yield func(Queued) bool) {
		if t, ok := s.queues.topics.get(topic); ok {
			t.Scan(yield)
		}
	}
}

// QueueAfter yields what Queue yields, behind the place.
func (s *State) QueueAfter(topic eventlog.Topic, at Ordinal) iter.Seq[Queued] {
	return func(yield func(Queued) bool) {
		if t, ok := s.queues.topics.get(topic); ok {
			t.Ascend(Queued{Created: at}, func(q Queued) bool { return q.Created == at || yield(q) })
		}
	}
}

// Queued returns the place in the topic's queue, and false when no pending event stands there.
func (s *State) Queued(topic eventlog.Topic, at Ordinal) (Queued, bool) {
	return s.queues.get(topic, at)
}

// Pending yields those of the topic's pending events that are in memory, oldest first: rules that
// must know of all go by [State.Queue].
func (s *State) Pending(topic eventlog.Topic) iter.Seq[*TopicEvent] {
	return func(yield func(*TopicEvent) bool) {
		prefix := string(topic) + "\x00"
		for at, e := range s.pending.from(prefix) {
			if !strings.HasPrefix(at, prefix) || !yield(e) {
				return
			}
		}
	}
}

// PendingAt returns the pending event at the place in the topic's queue; nil while it is paged out: then
// the store has it as it is.
func (s *State) PendingAt(topic eventlog.Topic, at Ordinal) *TopicEvent {
	e, _ := s.pending.get(pendingKey(topic, at))
	return e
}

// Scheduled yields the pending events that come due after the given time, soonest first (J2).
func (s *State) Scheduled(after eventlog.Instant) iter.Seq[ScheduledEvent] {
	return func(yield func(ScheduledEvent) bool) {
		pivot := string(binary.BigEndian.AppendUint64(nil, uint64(after)+1))
		for at := range s.scheduled.from(pivot) {
			ref := Key{KindEvent, at[8:]}.Event()
			e := ScheduledEvent{ref.Topic, ref.MessageID, eventlog.Instant(binary.BigEndian.Uint64([]byte(at[:8])))}
			if !yield(e) {
				return
			}
		}
	}
}

// Subscribed reports whether a consumer of the current version subscribes to the topic.
func (s *State) Subscribed(topic eventlog.Topic) bool {
	_, ok := s.Definition().Subscriber(topic)
	return ok
}
