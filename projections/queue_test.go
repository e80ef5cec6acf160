package projections_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// backlog is a workflow with pending events of 10 bytes in two topics, in turns: a0 b0 a1 b1 …
func backlog(each int, change func(*projections.TopicEvent)) *projections.State {
	entities := []any{
		&projections.Workflow{Name: "w", Head: eventlog.Head{Revision: 1}, Version: "1.0"},
		&projections.Script{Version: "1.0", Definition: eventlog.Definition{
			Topics:    []eventlog.Topic{"a", "b", "free"},
			Consumers: []eventlog.Consumer{{Name: "c", Subscribe: []eventlog.Topic{"a", "b"}}},
		}},
	}
	for i := range each {
		for n, topic := range []eventlog.Topic{"a", "b"} {
			e := &projections.TopicEvent{
				Topic: topic, MessageID: eventlog.MessageID(fmt.Sprintf("%s%d", topic, i)), Status: eventlog.EventStatusPending,
				Title: "12345", Payload: []byte("67890"), Created: projections.Ordinal{Seq: uint64(i), N: uint32(n)},
			}
			change(e)
			entities = append(entities, e)
		}
	}
	return new(projections.State).Hydrate(entities...)
}

func whole(s *projections.State, topic eventlog.Topic) (ids []eventlog.MessageID) {
	for e := range s.Pending(topic) {
		ids = append(ids, e.MessageID)
	}
	return ids
}

// The oldest events of each topic stay, hidden ones go first, and what the store does not have stays.
func TestPageOutKeepsWhatIsNeededFirst(t *testing.T) {
	t.Parallel()
	yes := func(projections.Key) bool { return true }
	for name, c := range map[string]struct {
		most   projections.Window
		stored func(projections.Key) bool
		hidden eventlog.MessageID // of topic a
		a, b   []eventlog.MessageID
	}{
		"all fit": {most: projections.Window{Events: 8, Bytes: 80}, stored: yes, a: ids("a0 a1 a2 a3"),
			b: ids("b0 b1 b2 b3")},
		"by number": {most: projections.Window{Events: 7, Bytes: 80}, stored: yes, a: ids("a0 a1 a2"), b: ids("b0 b1 b2")},
		"by bytes":  {most: projections.Window{Events: 8, Bytes: 50}, stored: yes, a: ids("a0 a1"), b: ids("b0 b1")},
		"none":      {stored: yes},
		"hidden first": {most: projections.Window{Events: 4, Bytes: 80}, stored: yes, hidden: "a0", a: ids("a1 a2"),
			b: ids("b0 b1")},
		"not stored": {most: projections.Window{Events: 2, Bytes: 80}, a: ids("a0 a3"), b: ids("b0"),
			stored: func(k projections.Key) bool {
				return k != projections.EventKey("a", "a3")
			}},
	} {
		s := backlog(4, func(e *projections.TopicEvent) {
			if e.MessageID == c.hidden {
				e.ScheduledAt = 77
			}
		})
		before := fmt.Sprint(s.Keys())
		got := s.PageOut(c.most, c.stored)
		if !slices.Equal(whole(got, "a"), c.a) || !slices.Equal(whole(got, "b"), c.b) {
			t.Errorf("%s: in memory are %v and %v, want %v and %v", name, whole(got, "a"), whole(got, "b"), c.a, c.b)
		}
		for _, topic := range []eventlog.Topic{"a", "b"} {
			var places []uint64
			for q := range got.Queue(topic) {
				places = append(places, q.Created.Seq)
			}
			if !slices.Equal(places, []uint64{0, 1, 2, 3}) {
				t.Errorf("%s: the queue of %s has the places %v", name, topic, places)
			}
		}
		if after := fmt.Sprint(s.Keys()); after != before {
			t.Errorf("%s: the state that was paged out of changed", name)
		}
	}
}

func ids(text string) (list []eventlog.MessageID) {
	for id := range strings.FieldsSeq(text) {
		list = append(list, eventlog.MessageID(id))
	}
	return list
}

// A backlog from the store queues nothing that memory knows better, and leaves with its topic's
// subscriber.
func TestABacklogNeverGoesBack(t *testing.T) {
	t.Parallel()
	s := backlog(2, func(e *projections.TopicEvent) {
		if e.MessageID == "a0" {
			e.Status, e.ReservedBy = eventlog.EventStatusReserved, "R"
		}
	})
	order := func() (text string) {
		for _, topic := range []eventlog.Topic{"a", "b", "free"} {
			for q := range s.Queue(topic) {
				text += fmt.Sprintf("%s%d whole:%v until %d; ", topic, q.Created.Seq, s.PendingAt(topic, q.Created) != nil,
					q.ScheduledAt)
			}
		}
		for e := range s.Scheduled(0) {
			text += fmt.Sprintf("%s at %d; ", e.MessageID, e.ScheduledAt)
		}
		return text
	}
	stored := func(topic eventlog.Topic) *projections.Backlog { // 0 and 1, the first hidden
		return &projections.Backlog{
			Topic: topic, Queued: []projections.Queued{{Created: projections.Ordinal{Seq: 0}, ScheduledAt: 5},
				{Created: projections.Ordinal{Seq: 1}}},
			Scheduled: []projections.ScheduledEvent{{Topic: topic, MessageID: eventlog.MessageID(topic + "0"), ScheduledAt: 5}},
		}
	}
	const own = "a1 whole:true until 0; b0 whole:true until 0; b1 whole:true until 0; "
	s = s.Hydrate(stored("a"))
	if got := order(); got != own {
		t.Errorf("a stale backlog made it %q, want %q", got, own)
	}
	s = s.Hydrate(stored("free"))
	if got, want := order(), own+"free0 whole:false until 5; free1 whole:false until 0; free0 at 5; "; got != want {
		t.Errorf("a backlog of another topic made it %q, want %q", got, want)
	}
	s = s.Evict([]projections.Key{projections.PendingKey("free"), projections.PendingKey("a")})
	if got := order(); got != own {
		t.Errorf("without subscriber it stays %q, want %q", got, own)
	}
}

// What is paged out is let go of: the trees of the state share parts with those of former states, and
// must not keep it in memory that way.
func TestPagedOutEventsAreFreed(t *testing.T) {
	s := backlog(0, nil)
	var all []weak.Pointer[projections.TopicEvent]
	const events, window = 20_000, 100
	for i := 0; i < events; {
		var some []any
		for range 10 {
			e := &projections.TopicEvent{
				Topic: "a", MessageID: eventlog.MessageID(fmt.Sprint(i)), Status: eventlog.EventStatusPending,
				Payload: make([]byte, 100), Created: projections.Ordinal{Seq: uint64(i)},
			}
			some, all = append(some, e), append(all, weak.Make(e))
			i++
		}
		s = s.Hydrate(some...)
		if i%500 == 0 {
			s = s.PageOut(projections.Window{Events: window, Bytes: 1 << 20}, func(projections.Key) bool { return true })
		}
	}
	runtime.GC()
	kept := 0
	for _, e := range all {
		if e.Value() != nil {
			kept++
		}
	}
	if n := len(whole(s, "a")); n != window || kept > 1000 {
		t.Errorf("%d of %d events are in memory, %d in the state; want %d and little more", kept, events, n, window)
	}
}
