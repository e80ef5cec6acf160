package projections

import (
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
)

// Live reports whether the entity belongs to work that is not finished, and so must stay in
// memory; of a pending event that means its place in the queue, see PageOut. Pending events wait
// elsewhere while no consumer subscribes to their topic: the deploy of a subscriber brings them back.
// Inputs are only looked up.
func (s *State) Live(k Key) bool {
	switch k.Kind {
	case KindWorkflow, KindHandler:
		return true
	case KindRun:
		id := eventlog.RunID(k.ID)
		return id == s.Current || id == s.PendingRetry || s.Open(id)
	case KindMutation:
		m := s.Mutation(eventlog.MutationID(k.ID))
		if m == nil {
			return false
		}
		_, open := s.openRuns.calls.get(m.ID)
		return !m.Status.Final() || open || s.chained(s.CurrentRun(), m.ID) || s.chained(s.RetryRun(), m.ID)
	case KindEvent:
		e, ok := s.events.get(k.ID)
		return ok && (e.Status == eventlog.EventStatusReserved ||
			e.Status == eventlog.EventStatusPending && s.Subscribed(e.Topic))
	case KindSession:
		return eventlog.SessionID(k.ID) == s.Session
	case KindScript:
		v := eventlog.Version(k.ID)
		run, retry := s.CurrentRun(), s.RetryRun()
		open, _ := s.openRuns.versions.get(v)
		return v == s.Version || open > 0 || run != nil && run.Version == v || retry != nil && retry.Version == v
	}
	return false
}

// touchMoved touches the entities that a change of the core has made live or finished although they did not change
// themselves: a committed run's mutation, the script that only it used, a run whose retry is no longer owed.
// Otherwise such entities would keep the residence they had. For open runs, follow does that.
func (s *State) touchMoved(old *State) {
	touch := func(k Key) {
		if s.Entity(k) != nil {
			s.touch(k)
		}
	}
	run := func(id eventlog.RunID) {
		if id == "" {
			return
		}
		touch(RunKey(id))
		if r := s.Run(id); r != nil && r.Mutation != "" {
			touch(MutationKey(r.Mutation))
		}
		if r := s.Run(id); r != nil && r.Version != s.Version {
			touch(ScriptKey(r.Version))
		}
	}
	if old.Current != s.Current {
		run(old.Current)
		run(s.Current)
	}
	if old.PendingRetry != s.PendingRetry {
		run(old.PendingRetry)
		run(s.PendingRetry)
	}
	if old.Version != s.Version {
		touch(ScriptKey(old.Version))
		touch(ScriptKey(s.Version))
		s.park(old)
	}
	if old.Session != s.Session {
		touch(SessionKey(old.Session))
		touch(SessionKey(s.Session))
	}
}

// park lists the topics that have lost their consumer and the pending events in memory. They are
// not touched: what is in the store of them stays as it is.
func (s *State) park(old *State) {
	for _, c := range old.Definition().Consumers {
		for _, topic := range c.Subscribe {
			if s.Subscribed(topic) {
				continue
			}
			s.Parked = append(s.Parked, PendingKey(topic))
			for e := range s.Pending(topic) {
				s.Parked = append(s.Parked, EventKey(e.Topic, e.MessageID))
			}
		}
	}
}

func (s *State) chained(run *Run, id eventlog.MutationID) bool {
	return run != nil && run.Mutation == id
}

// Evict returns the state without those of the entities that are finished. The caller has them
// in a committed checkpoint.
func (s *State) Evict(keys []Key) *State {
	s = s.forked()
	s.partial, s.answered = true, nil
	for _, k := range keys {
		if s.Live(k) {
			continue
		}
		switch k.Kind {
		case KindRun:
			s.runs.drop(eventlog.RunID(k.ID))
		case KindMutation:
			s.mutations.drop(eventlog.MutationID(k.ID))
		case KindEvent:
			s.dropEvent(k.ID)
		case KindInput:
			s.inputs.drop(eventlog.InputID(k.ID))
		case KindSession:
			s.sessions.drop(eventlog.SessionID(k.ID))
		case KindScript:
			s.scripts.drop(eventlog.Version(k.ID))
		case KindPending:
			if topic := eventlog.Topic(k.ID); !s.Subscribed(topic) {
				s.forget(topic)
			}
		case KindWorkflow, KindHandler:
		}
	}
	return s
}

// Has reports whether all that the key names is in memory. Of a topic with a subscriber all
// pending events are in the queue.
func (s *State) Has(k Key) bool {
	switch k.Kind {
	case KindPending:
		return s.Subscribed(eventlog.Topic(k.ID))
	case KindKeyed:
		topic, consumer, path := k.Keyed()
		in, ok := s.lanes.topics.get(topic)
		_, read := s.rekeyed[k]
		return read || ok && in == lane{consumer, path}
	case KindPlace:
		return s.PendingAt(k.Place()) != nil
	}
	return s.Entity(k) != nil
}

// Entity returns a pointer to the entity, or nil when it is not in memory. The workflow itself
// comes as *Workflow.
func (s *State) Entity(k Key) any {
	switch k.Kind {
	case KindWorkflow:
		core := s.Workflow
		return &core
	case KindHandler:
		if e := s.Handler(eventlog.Handler(k.ID)); e != nil {
			return e
		}
	case KindRun:
		if e := s.Run(eventlog.RunID(k.ID)); e != nil {
			return e
		}
	case KindMutation:
		if e := s.Mutation(eventlog.MutationID(k.ID)); e != nil {
			return e
		}
	case KindEvent:
		if e, ok := s.events.get(k.ID); ok {
			return e
		}
	case KindInput:
		if e := s.Input(eventlog.InputID(k.ID)); e != nil {
			return e
		}
	case KindSession:
		if e, ok := s.sessions.get(eventlog.SessionID(k.ID)); ok {
			return e
		}
	case KindScript:
		if e := s.Script(eventlog.Version(k.ID)); e != nil {
			return e
		}
	}
	return nil
}

// NewEntity returns a pointer to a zero entity of the kind, to decode a stored one into.
func NewEntity(kind EntityKind) any {
	switch kind {
	case KindWorkflow:
		return new(Workflow)
	case KindHandler:
		return new(Handler)
	case KindRun:
		return new(Run)
	case KindMutation:
		return new(Mutation)
	case KindEvent:
		return new(TopicEvent)
	case KindInput:
		return new(Input)
	case KindSession:
		return new(Session)
	case KindScript:
		return new(Script)
	}
	return nil
}

// Hydrate returns the state with these stored entities back in memory. Entities already there
// win: memory is never older than the store. It must not run beside another write to a state of the
// same origin: call it under the lock that serializes decisions.
func (s *State) Hydrate(entities ...any) *State {
	s = s.forked()
	defined := s.Script(s.Version) != nil
	for _, e := range entities {
		switch e := e.(type) {
		case *Workflow:
			if !s.Exists() {
				s.Workflow, s.partial = *e, true
			}
		case *Handler:
			if s.Handler(e.Name) == nil {
				s.handlers.put(e.Name, e)
			}
		case *Run:
			if s.Run(e.ID) == nil {
				s.putRun(e)
			}
		case *Mutation:
			if s.Mutation(e.ID) == nil {
				s.putMutation(e)
			}
		case *TopicEvent:
			if k := EventKey(e.Topic, e.MessageID); s.eventAt(k) == nil {
				s.putEvent(k, e)
			}
		case *Backlog:
			s.hydrateBacklog(e)
		case *Input:
			if s.Input(e.ID) == nil {
				s.inputs.put(e.ID, e)
			}
		case *Session:
			if _, ok := s.sessions.get(e.ID); !ok {
				s.sessions.put(e.ID, e)
			}
		case *Script:
			if s.Script(e.Version) == nil {
				s.scripts.put(e.Version, e)
			}
		default:
			panic(fmt.Sprintf("projections: %T is no entity", e))
		}
	}
	if !defined && s.Script(s.Version) != nil {
		s.order(entities)
	}
	s.Touched, s.touched = nil, nil
	return s
}

// order fills the lanes and the order of open runs. Both need the definition, which has just come into memory with the
// entities.
func (s *State) order(entities []any) {
	if err := s.relane(); err != nil {
		panic("projections: " + err.Error()) // the first entities of a state are whole: see Load of the store
	}
	for _, e := range entities {
		if run, ok := e.(*Run); ok {
			s.follow(s.Run(run.ID))
		}
	}
}

// Keys lists everything that is in memory, by kind and name.
func (s *State) Keys() []Key {
	keys := []Key{WorkflowKey()}
	for id := range s.handlers.all() {
		keys = append(keys, HandlerKey(id))
	}
	for id := range s.scripts.all() {
		keys = append(keys, ScriptKey(id))
	}
	for id := range s.sessions.all() {
		keys = append(keys, SessionKey(id))
	}
	for id := range s.runs.all() {
		keys = append(keys, RunKey(id))
	}
	for id := range s.mutations.all() {
		keys = append(keys, MutationKey(id))
	}
	for id := range s.events.all() {
		keys = append(keys, Key{KindEvent, id})
	}
	for id := range s.inputs.all() {
		keys = append(keys, InputKey(id))
	}
	return keys
}

// KeyOf names an entity, or the queue that a backlog belongs to; false for what is neither.
func KeyOf(entity any) (Key, bool) {
	switch e := entity.(type) {
	case *Workflow:
		return WorkflowKey(), true
	case *Handler:
		return HandlerKey(e.Name), true
	case *Run:
		return RunKey(e.ID), true
	case *Mutation:
		return MutationKey(e.ID), true
	case *TopicEvent:
		return EventKey(e.Topic, e.MessageID), true
	case *Input:
		return InputKey(e.ID), true
	case *Session:
		return SessionKey(e.ID), true
	case *Script:
		return ScriptKey(e.Version), true
	case *Backlog:
		if e.Path != "" {
			return KeyedKey(e.Topic, e.Consumer, e.Path), true
		}
		return PendingKey(e.Topic), true
	}
	return Key{}, false
}

// dropEvent takes the event out of memory and of its queue.
func (s *State) dropEvent(key string) {
	e, ok := s.events.get(key)
	if !ok {
		return
	}
	s.events.drop(key)
	s.pending.drop(pendingKey(e.Topic, e.Created))
	s.dequeue(e.Topic, e.Created)
	if e.ScheduledAt != 0 {
		s.scheduled.drop(scheduledKey(e.scheduled()))
	}
}
