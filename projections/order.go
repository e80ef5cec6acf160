package projections

import (
	"encoding/binary"
	"slices"

	"github.com/tidwall/btree"

	"github.com/pawl-run/pawl/eventlog"
)

// Queued is the place of a pending event in its topic. Of a long backlog memory holds no more than
// these: some 100 bytes for each event; of a concurrent consumer's another 60, and 100 more of one with a key. It
// must hold no pointer to the event: nodes of a persistent tree share arrays, so what they point to may stay in
// memory after it was replaced.
type Queued struct {
	// Created orders the events of a topic, oldest first.
	Created Ordinal
	// ScheduledAt hides the event until then (J2).
	ScheduledAt eventlog.Instant
	// Key is the number of the event's key in the lane of a concurrent consumer, 0 for none (C2).
	Key uint64
	// FailedAt is the revision at which an attempt failed last, 0 for never or since a redrive.
	FailedAt uint64
	// Held says that no run is offered the event (C5), BacksOff that it is hidden after a transient failure: a probe takes
	// it before its time (C7).
	Held, BacksOff bool
}

// Visible reports whether the pending event can be peeked and reserved at now (J2).
func (q Queued) Visible(now eventlog.Instant) bool { return q.ScheduledAt <= now }

// ScheduledEvent names a pending event that J2 hides until a time.
type ScheduledEvent struct {
	Topic       eventlog.Topic
	MessageID   eventlog.MessageID
	ScheduledAt eventlog.Instant
}

// queue orders the pending events of one topic.
type queue = btree.BTreeG[Queued]

// queues are the pending events by topic: a persistent map, like table.
type queues struct {
	topics recent[eventlog.Topic, *queue]
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
		t = btree.NewBTreeGOptions(before, btree.Options{NoLocks: true, Degree: degree})
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

// lane is the consumer in whose lane the events of a topic wait, with the path of their keys (C1, C2).
type lane struct {
	consumer eventlog.Handler
	path     string
}

// lanes order the events of concurrent consumers by what may begin next. Each change of an event costs as many steps
// as the logarithm of their number, and so does finding the oldest that may begin.
type lanes struct {
	// topics are those of concurrent consumers.
	topics table[eventlog.Topic, lane]
	// untried and tried have, of each topic, the pending events that nothing holds and whose key is free; of the tried
	// ones an attempt has failed.
	untried, tried table[eventlog.Topic, *dueTree]
	// keyed has the unfinished events of each key with their topics, by key and place; taken the keys of the reserved
	// ones by topic and place; busy how many of a key are reserved.
	keyed table[string, eventlog.Topic]
	taken table[string, uint64]
	busy  table[uint64, int]
}

func (l *lanes) fork() {
	l.topics.fork()
	l.untried.fork()
	l.tried.fork()
	l.keyed.fork()
	l.taken.fork()
	l.busy.fork()
}

func keyedKey(key uint64, at Ordinal) string {
	b := binary.BigEndian.AppendUint64(nil, key)
	b = binary.BigEndian.AppendUint64(b, at.Seq)
	return string(binary.BigEndian.AppendUint32(b, at.N))
}

func keyedPlace(text string) Ordinal {
	return Ordinal{Seq: binary.BigEndian.Uint64([]byte(text[8:])), N: binary.BigEndian.Uint32([]byte(text[16:]))}
}

func scheduledKey(e ScheduledEvent) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(e.ScheduledAt))
	return string(b) + EventKey(e.Topic, e.MessageID).ID
}

func (e *TopicEvent) scheduled() ScheduledEvent {
	return ScheduledEvent{Topic: e.Topic, MessageID: e.MessageID, ScheduledAt: e.ScheduledAt}
}

// openRuns are the runs of concurrent consumers that are not over: active, awaiting an approval or a place, or ended
// and owing a retry or a settlement. They are in memory, as is what they need.
type openRuns struct {
	// places has each run's key in order, which has them by consumer, stand, time and start.
	places table[eventlog.RunID, string]
	order  table[string, eventlog.RunID]
	// calls has the open run of a mutation's chain, events that of an event, which may have ended; versions counts the
	// runs of each script version.
	calls    table[eventlog.MutationID, eventlog.RunID]
	events   table[string, eventlog.RunID]
	versions table[eventlog.Version, int]
}

func (o *openRuns) fork() {
	o.places.fork()
	o.order.fork()
	o.calls.fork()
	o.events.fork()
	o.versions.fork()
}
