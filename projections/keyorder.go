package projections

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/pawl-run/pawl/eventlog"
)

// enqueue gives a pending event its place, or changes what is known of it there.
func (s *State) enqueue(topic eventlog.Topic, q Queued) {
	_, concurrent := s.lanes.topics.get(topic)
	if concurrent {
		s.leaveLane(topic, q.Created)
	}
	s.queues.put(topic, q)
	if concurrent {
		s.enterLane(topic, q)
	}
}

// dequeue takes an event that is not pending any more, or is let go of, from its place.
func (s *State) dequeue(topic eventlog.Topic, at Ordinal) {
	if _, concurrent := s.lanes.topics.get(topic); concurrent {
		s.leaveLane(topic, at)
	}
	s.queues.drop(topic, at)
}

func (s *State) enterLane(topic eventlog.Topic, q Queued) {
	if q.Key == 0 {
		s.offer(topic, q)
		return
	}
	s.changeKey(q.Key, func() { s.lanes.keyed.put(keyedKey(q.Key, q.Created), topic) })
}

func (s *State) leaveLane(topic eventlog.Topic, at Ordinal) {
	q, queued := s.queues.get(topic, at)
	switch {
	case !queued:
	case q.Key == 0:
		s.withdraw(topic, at)
	default:
		s.changeKey(q.Key, func() { s.lanes.keyed.drop(keyedKey(q.Key, at)) })
	}
}

// take notes the key of a reserved event: the key is not free while a run has one of its events.
func (s *State) take(topic eventlog.Topic, at Ordinal, key uint64) {
	place := pendingKey(topic, at)
	if was, taken := s.lanes.taken.get(place); taken {
		if was == key {
			return
		}
		s.changeKey(was, func() {
			s.lanes.keyed.drop(keyedKey(was, at))
			s.lanes.taken.drop(place)
			s.countBusy(was, -1)
		})
	}
	if key != 0 {
		s.changeKey(key, func() {
			s.lanes.keyed.put(keyedKey(key, at), topic)
			s.lanes.taken.put(place, key)
			s.countBusy(key, 1)
		})
	}
}

func (s *State) countBusy(key uint64, more int) {
	n, _ := s.lanes.busy.get(key)
	if n += more; n == 0 {
		s.lanes.busy.drop(key)
	} else {
		s.lanes.busy.put(key, n)
	}
}

// changeKey changes what waits for the key, and keeps its oldest event on offer exactly while the key is free.
func (s *State) changeKey(key uint64, change func()) {
	if topic, q, free := s.headOf(key); free {
		s.withdraw(topic, q.Created)
	}
	change()
	if topic, q, free := s.headOf(key); free {
		s.offer(topic, q)
	}
}

// headOf is the oldest unfinished event of the key, if it is pending and no other of the key is reserved (C2).
func (s *State) headOf(key uint64) (topic eventlog.Topic, q Queued, free bool) {
	if n, _ := s.lanes.busy.get(key); n > 0 {
		return "", Queued{}, false
	}
	for text, topic := range s.lanes.keyed.from(keyedKey(key, Ordinal{})) {
		if binary.BigEndian.Uint64([]byte(text)) == key {
			q, free = s.queues.get(topic, keyedPlace(text))
			return topic, q, free
		}
		break
	}
	return "", Queued{}, false
}

func (s *State) offer(topic eventlog.Topic, q Queued) {
	if q.Held {
		return
	}
	trees := &s.lanes.untried
	if q.FailedAt != 0 {
		trees = &s.lanes.tried
	}
	tree, _ := trees.get(topic)
	trees.put(topic, tree.put(q.Created, q.ScheduledAt))
}

func (s *State) withdraw(topic eventlog.Topic, at Ordinal) {
	for _, trees := range []*table[eventlog.Topic, *dueTree]{&s.lanes.untried, &s.lanes.tried} {
		tree, _ := trees.get(topic)
		if less := tree.drop(at); less == nil && tree != nil {
			trees.drop(topic)
		} else if less != tree {
			trees.put(topic, less)
		}
	}
}

// queued is the event's place in its queue.
func (s *State) queued(e *TopicEvent, old *TopicEvent) Queued {
	q := e.place()
	if lane, _ := s.lanes.topics.get(e.Topic); lane.path != "" {
		if was, known := s.queues.get(e.Topic, e.Created); known && old != nil && bytes.Equal(old.Payload, e.Payload) {
			q.Key = was.Key
		} else {
			q.Key = laneKey(lane.consumer, lane.path, EventKeyAt(lane.path, e.Payload))
		}
	}
	return q
}

// reservedKey is the key of a reserved event: the one that its run began with, unless a deploy has named another path
// since (C2, C9).
func (s *State) reservedKey(e *TopicEvent, in lane) uint64 {
	if in.path == "" {
		return 0
	}
	if run := s.Run(e.ReservedBy); run != nil && run.Event != nil {
		if script := s.Script(run.Version); script != nil {
			if c, _ := script.Definition.Consumer(run.Handler); c.Name == in.consumer && c.Key == in.path {
				return laneKey(in.consumer, in.path, run.Key)
			}
		}
	}
	return laneKey(in.consumer, in.path, EventKeyAt(in.path, e.Payload))
}

// followReservation keeps the keys of reserved events in step with the event.
func (s *State) followReservation(e, old *TopicEvent) {
	in, concurrent := s.lanes.topics.get(e.Topic)
	switch {
	case !concurrent:
	case e.Status == eventlog.EventStatusReserved:
		s.take(e.Topic, e.Created, s.reservedKey(e, in))
	case old != nil && old.Status == eventlog.EventStatusReserved:
		s.take(e.Topic, e.Created, 0)
	}
}

// QueuedWith is the event's place with its key at the path, for a queue that is read elsewhere.
func (e *TopicEvent) QueuedWith(consumer eventlog.Handler, path string) Queued {
	q := e.place()
	q.Key = laneKey(consumer, path, EventKeyAt(path, e.Payload))
	return q
}

// place is the event's place without a key.
func (e *TopicEvent) place() Queued {
	return Queued{Created: e.Created, ScheduledAt: e.ScheduledAt, FailedAt: e.FailedAt, Held: e.Held != nil,
		BacksOff: e.BacksOff()}
}

// relane follows the definition: where it has other lanes than before, all that waits in them is ordered anew. An
// error says that the key of a pending event is not known: it is neither in memory nor was it read (KeyedKey).
func (s *State) relane() error {
	want := map[eventlog.Topic]lane{}
	for _, c := range s.Definition().Consumers {
		if c.Concurrent() {
			for _, topic := range c.Subscribe {
				want[topic] = lane{c.Name, c.Key}
			}
		}
	}
	same := len(want) == s.lanes.topics.size()
	for topic, l := range want {
		if was, ok := s.lanes.topics.get(topic); !ok || was != l {
			same = false
		}
	}
	if same {
		return nil
	}
	before := s.lanes.topics
	s.lanes = lanes{}
	for topic, l := range want {
		s.lanes.topics.put(topic, l)
	}
	for topic, l := range want {
		was, _ := before.get(topic)
		if err := s.rekey(topic, l, was); err != nil {
			return err
		}
	}
	for _, e := range s.events.all() {
		s.followReservation(e, nil)
	}
	return nil
}

// rekey lets the topic's pending events enter the lane.
func (s *State) rekey(topic eventlog.Topic, now, was lane) error {
	read := s.rekeyed[KeyedKey(topic, now.consumer, now.path)]
	var queued []Queued
	for q := range s.Queue(topic) {
		switch e := s.PendingAt(topic, q.Created); {
		case now.path == "":
			q.Key = 0
		case now == was:
		case e != nil:
			q.Key = laneKey(now.consumer, now.path, EventKeyAt(now.path, e.Payload))
		default:
			key, known := read[q.Created]
			if !known {
				return fmt.Errorf("the key of the pending event at %v of topic %s is not known", q.Created, topic)
			}
			q.Key = key
		}
		queued = append(queued, q)
	}
	for _, q := range queued {
		s.queues.put(topic, q)
		s.enterLane(topic, q)
	}
	return nil
}

// Candidate is the place of a pending event that may begin.
type Candidate struct {
	Topic   eventlog.Topic
	Created Ordinal
}

// Offered yields the places of those of the consumer's pending events that may begin: they are due, nothing holds
// them and their key is free. Tried ones, of which an attempt has failed, and the others are two orders, each oldest
// first. The state must not change meanwhile.
func (s *State) Offered(c eventlog.Consumer, tried bool, now eventlog.Instant) iter.Seq[Candidate] {
	trees := &s.lanes.untried
	if tried {
		trees = &s.lanes.tried
	}
	return func(yield func(Candidate) bool) {
		type source struct {
			topic eventlog.Topic
			next  func() (Ordinal, bool)
			at    Ordinal
		}
		var sources []source
		for _, topic := range c.Subscribe {
			tree, offers := trees.get(topic)
			if !offers {
				continue
			}
			next, stop := iter.Pull(tree.until(now))
			defer stop()
			if at, ok := next(); ok {
				sources = append(sources, source{topic, next, at})
			}
		}
		for len(sources) > 0 {
			oldest := 0
			for i := range sources {
				if sources[i].at.Before(sources[oldest].at) {
					oldest = i
				}
			}
			from := &sources[oldest]
			if !yield(Candidate{from.topic, from.at}) {
				return
			}
			var more bool
			if from.at, more = from.next(); !more {
				sources = append(sources[:oldest], sources[oldest+1:]...)
			}
		}
	}
}

// NewestUntried is the newest of the consumer's events that may begin now and of which no attempt has failed.
func (s *State) NewestUntried(c eventlog.Consumer, now eventlog.Instant) (newest Candidate, found bool) {
	for _, topic := range c.Subscribe {
		tree, _ := s.lanes.untried.get(topic)
		if at, ok := tree.latest(now); ok && (!found || newest.Created.Before(at)) {
			newest, found = Candidate{topic, at}, true
		}
	}
	return newest, found
}

// Offers is how many of the consumer's pending events are kept from beginning by nothing but time: nothing holds them
// and their key is free.
func (s *State) Offers(c eventlog.Consumer) (events int) {
	for _, topic := range c.Subscribe {
		for _, trees := range []*table[eventlog.Topic, *dueTree]{&s.lanes.untried, &s.lanes.tried} {
			tree, _ := trees.get(topic)
			events += tree.count()
		}
	}
	return events
}

// KeyOf is a number that all events have which wait for each other because of their key (C2); 0 for an event that
// waits for no other.
func (s *State) KeyOf(e *TopicEvent) uint64 {
	if q, queued := s.queues.get(e.Topic, e.Created); queued {
		return q.Key
	}
	key, _ := s.lanes.taken.get(pendingKey(e.Topic, e.Created))
	return key
}

// Behind is how many events have the key of this one and come after it (C2). It counts to most.
func (s *State) Behind(e *TopicEvent, most int) (events int) {
	key := s.KeyOf(e)
	if key == 0 {
		return 0
	}
	for text := range s.lanes.keyed.from(keyedKey(key, e.Created)) {
		if events > most || binary.BigEndian.Uint64([]byte(text)) != key {
			break
		}
		events++
	}
	return max(0, events-1) // it is the first itself
}

// SoonestOffer is the time at which the first of the consumer's pending events that only wait for their time comes due;
// 0 means now. As in Offered, tried chooses between events that have failed and the others. It reports false for none.
func (s *State) SoonestOffer(c eventlog.Consumer, tried bool) (soonest eventlog.Instant, ok bool) {
	trees := &s.lanes.untried
	if tried {
		trees = &s.lanes.tried
	}
	for _, topic := range c.Subscribe {
		if tree, _ := trees.get(topic); tree != nil && (!ok || tree.first < soonest) {
			soonest, ok = tree.first, true
		}
	}
	return soonest, ok
}
