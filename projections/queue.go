package projections

import (
	"cmp"
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/btree"

	"github.com/pawl-run/pawl/eventlog"
)

// Queued is the place of a pending event in its topic. Of a long backlog memory holds no more than
// these: some 50 bytes for each event; of a concurrent consumer's another 60, and 100 more of one with a key. It
// must hold no pointer to the event: nodes of a persistent tree share arrays, so what they point to may stay in
// memory after it was replaced.
type Queued struct {
	// Created orders the events of a topic, oldest first.
	Created Ordinal
	// ScheduledAt hides the event until then (J2).
	ScheduledAt eventlog.Instant
	// Key is the number of the event's key in the lane of a concurrent consumer, 0 for none (C2).
	Key uint64
	// Held says that no run is offered the event (C5), Tried that an attempt has failed.
	Held, Tried bool
}

// Visible reports whether the pending event can be peeked and reserved at now (J2).
func (q Queued) Visible(now eventlog.Instant) bool { return q.ScheduledAt <= now }

// ScheduledEvent names a pending event that J2 hides until a time.
type ScheduledEvent struct {
	Topic       eventlog.Topic
	MessageID   eventlog.MessageID
	ScheduledAt eventlog.Instant
}

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

// queueDegree is larger than that of other tables: queues can be long, and their items are small.
const queueDegree = 32

// queue orders the pending events of one topic.
type queue = btree.BTreeG[Queued]

// queues are the pending events by topic: a persistent map, like table.
type queues struct {
	topics table[eventlog.Topic, *queue]
	// own lists the topics whose queue this copy has written to.
	own []eventlog.Topic
}

func (q *queues) fork() {
	q.topics.fork()
	q.own = nil
}

// write returns the topic's queue for writing.
func (q *queues) write(topic eventlog.Topic) *queue {
	t, known := q.topics.get(topic)
	switch {
	case known && slices.Contains(q.own, topic):
		return t
	case known:
		t = t.Copy()
	default:
		before := func(a, b Queued) bool { return a.Created.Before(b.Created) }
		t = btree.NewBTreeGOptions(before, btree.Options{NoLocks: true, Degree: queueDegree})
	}
	q.topics.put(topic, t)
	q.own = append(q.own, topic)
	return t
}

func (q *queues) put(topic eventlog.Topic, item Queued) { q.write(topic).Set(item) }

func (q *queues) drop(topic eventlog.Topic, at Ordinal) {
	if t, ok := q.topics.get(topic); ok {
		if _, ok := t.Get(Queued{Created: at}); ok {
			q.write(topic).Delete(Queued{Created: at})
		}
	}
}

func (q *queues) get(topic eventlog.Topic, at Ordinal) (Queued, bool) {
	t, ok := q.topics.get(topic)
	if !ok {
		return Queued{}, false
	}
	return t.Get(Queued{Created: at})
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

func pendingKey(topic eventlog.Topic, at Ordinal) string {
	var most [160]byte // topics have 128 characters at most
	b := append(most[:0], topic...)
	b = append(b, 0)
	b = binary.BigEndian.AppendUint64(b, at.Seq)
	b = binary.BigEndian.AppendUint32(b, at.N)
	return string(b)
}

func scheduledKey(e ScheduledEvent) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(e.ScheduledAt))
	return string(b) + EventKey(e.Topic, e.MessageID).ID
}

func (e *TopicEvent) scheduled() ScheduledEvent {
	return ScheduledEvent{Topic: e.Topic, MessageID: e.MessageID, ScheduledAt: e.ScheduledAt}
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
		if e.Status != eventlog.EventPending {
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

// PageOut returns the state with at most so many of the pending events in memory; the others keep
// their place in the queue. The oldest of each topic stay, with an equal share for each topic. Stored
// says whether the store has the event as it is: what it has not stays.
func (s State) PageOut(most Window, stored func(Key) bool) State {
	topics := map[eventlog.Topic][]resident{}
	count, bytes := 0, 0
	for id, e := range s.events.all() {
		if e.Status != eventlog.EventPending {
			continue
		}
		count++
		bytes += e.size()
		topics[e.Topic] = append(topics[e.Topic], resident{id, e})
	}
	if count <= most.Events && bytes <= most.Bytes {
		return s
	}
	s.fork()
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
