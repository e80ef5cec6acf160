package projections

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// Backlog lists pending events of one topic as the store knows them. It is no entity: hydrated, it
// puts into the queue what memory does not know.
type Backlog struct {
	Topic eventlog.Topic
	// Queued lists places in ascending order.
	Queued []Queued
	// Scheduled names those of them that have a retry time.
	Scheduled []ScheduledEvent
	// Path is set in a queue that was read with its keys for a consumer: see KeyedKey.
	Consumer eventlog.Handler
	Path     string
}

// Window bounds the pending events that are in memory with title and payload.
type Window struct{ Events, Bytes int }

// hydrateBacklog queues what memory does not know. What is in memory wins: there the event may be
// pending no more. Keys for a lane that the definition does not have are kept until the next record, which may be the
// deploy that makes it.
func (s *State) hydrateBacklog(b *Backlog) {
	if in, ok := s.lanes.topics.get(b.Topic); b.Path != "" && (!ok || in != lane{b.Consumer, b.Path}) {
		s.keepKeys(b)
		return
	}
	ended := map[Ordinal]bool{}
	prefix := string(b.Topic) + "\x00"
	for id, e := range s.events.from(prefix) {
		if !strings.HasPrefix(id, prefix) {
			break
		}
		if e.Status != eventlog.EventStatusPending {
			ended[e.Created] = true
		}
	}
	for _, q := range b.Queued {
		if _, known := s.queues.get(b.Topic, q.Created); !known && !ended[q.Created] {
			s.enqueue(b.Topic, q)
		}
	}
	for _, e := range b.Scheduled {
		if s.Event(e.Topic, e.MessageID) == nil {
			s.scheduled.put(scheduledKey(e), struct{}{})
		}
	}
}

func (s *State) keepKeys(b *Backlog) {
	name := KeyedKey(b.Topic, b.Consumer, b.Path)
	keys := maps.Clone(s.rekeyed[name])
	if keys == nil {
		keys = make(map[Ordinal]uint64, len(b.Queued))
	}
	for _, q := range b.Queued {
		keys[q.Created] = q.Key
	}
	all := maps.Clone(s.rekeyed)
	if all == nil {
		all = map[Key]map[Ordinal]uint64{}
	}
	all[name] = keys
	s.rekeyed = all
}

// forget takes those of the topic's pending events out of the queue that are paged out: no
// consumer subscribes to it any more.
func (s *State) forget(topic eventlog.Topic) {
	var paged []Ordinal
	for q := range s.Queue(topic) {
		if s.PendingAt(topic, q.Created) == nil {
			paged = append(paged, q.Created)
		}
	}
	for _, at := range paged {
		s.dequeue(topic, at)
	}
	var keys []string
	for at := range s.scheduled.all() {
		if ref := (Key{KindEvent, at[8:]}).Event(); ref.Topic == topic && s.Event(topic, ref.MessageID) == nil {
			keys = append(keys, at)
		}
	}
	for _, at := range keys {
		s.scheduled.drop(at)
	}
}

// resident is a pending event in memory, with its key.
type resident struct {
	id    string
	event *TopicEvent
}

// PageOut returns the state with at most so many of the pending events in memory; the others keep their place in the
// queue. The oldest of each topic stay, with an equal share for each topic. stored reports whether the store has the
// event in its present form; an event that it does not have stays in memory.
func (s *State) PageOut(most Window, stored func(Key) bool) *State {
	topics := map[eventlog.Topic][]resident{}
	count, bytes := 0, 0
	for id, e := range s.events.all() {
		if e.Status != eventlog.EventStatusPending {
			continue
		}
		count++
		bytes += e.size()
		topics[e.Topic] = append(topics[e.Topic], resident{id, e})
	}
	if count <= most.Events && bytes <= most.Bytes {
		return s
	}
	s = s.forked()
	s.partial = true
	for topic, events := range topics {
		if !s.Subscribed(topic) {
			continue // they leave altogether, by Evict
		}
		slices.SortFunc(events, func(a, b resident) int { return a.event.need(b.event) })
		left := Window{most.Events / len(topics), most.Bytes / len(topics)}
		for _, r := range events {
			left.Events--
			left.Bytes -= r.event.size()
			// A held event stays, as one that a run has does.
			if (left.Events < 0 || left.Bytes < 0) && r.event.Held == nil && stored(Key{KindEvent, r.id}) {
				s.events.drop(r.id)
				s.pending.drop(pendingKey(topic, r.event.Created))
			}
		}
	}
	return s
}

// need orders pending events by when a look will need them: those that are hidden last.
func (e *TopicEvent) need(f *TopicEvent) int {
	switch {
	case (e.ScheduledAt != 0) != (f.ScheduledAt != 0):
		return cmp.Compare(min(e.ScheduledAt, 1), min(f.ScheduledAt, 1))
	case e.Created.Before(f.Created):
		return -1
	}
	return 1
}

// size is about what the event takes in memory beside its fixed fields.
func (e *TopicEvent) size() int { return len(e.Payload) + len(e.Title) }
