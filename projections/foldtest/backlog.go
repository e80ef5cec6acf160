package foldtest

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Order lists what a state must know of its pending events whether they are paged out or not: the
// places in the queue of each topic with a subscriber, and the schedule of hidden ones.
func Order(s *projections.State) (order []string) {
	for _, c := range s.Definition().Consumers {
		for _, topic := range c.Subscribe {
			for q := range s.Queue(topic) {
				order = append(order, fmt.Sprintf("%s at %v, hidden until %s, failed at %d, backs off: %v", topic, q.Created,
					q.ScheduledAt, q.FailedAt, q.BacksOff))
			}
		}
	}
	slices.Sort(order) // two versions may list their consumers differently
	for e := range s.Scheduled(0) {
		if s.Subscribed(e.Topic) {
			order = append(order, fmt.Sprintf("%s: %s of %s", e.ScheduledAt, e.MessageID, e.Topic))
		}
	}
	return order
}

// Lanes lists what a state must know of its concurrent consumers whether their events are paged out or not: what may
// begin at these times, when the next comes due, and where each open run stands.
func Lanes(s *projections.State, nows ...eventlog.Instant) (order []string) {
	for _, c := range s.Definition().Consumers {
		if !c.Concurrent() {
			continue
		}
		for _, now := range nows {
			for _, tried := range []bool{false, true} {
				for at := range s.Offered(c, tried, now) {
					order = append(order, fmt.Sprintf("%s at %s: %s %v, tried %t", c.Name, now, at.Topic, at.Created, tried))
				}
			}
		}
		for _, tried := range []bool{false, true} {
			if at, ok := s.SoonestOffer(c, tried); ok {
				order = append(order, fmt.Sprintf("%s next at %s, tried %t", c.Name, at, tried))
			}
		}
		for run := range s.Active(c.Name) {
			order = append(order, fmt.Sprintf("%s is active", run.ID))
		}
		for run, at := range s.Returning(c.Name) {
			order = append(order, fmt.Sprintf("%s returns at %s", run.ID, at))
		}
		for run, at := range s.Asking(c.Name) {
			order = append(order, fmt.Sprintf("%s is asked about at %s", run.ID, at))
		}
	}
	for run := range s.OpenRuns() {
		order = append(order, fmt.Sprintf("%s is open", run.ID))
	}
	return order
}
