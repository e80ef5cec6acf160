package foldtest

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/projections"
)

// Order lists what a state must know of its pending events whether they are paged out or not: the
// places in the queue of each topic with a subscriber, and the schedule of hidden ones.
func Order(s *projections.State) (order []string) {
	for _, c := range s.Definition().Consumers {
		for _, topic := range c.Subscribe {
			for q := range s.Queue(topic) {
				order = append(order, fmt.Sprintf("%s at %v, hidden until %s", topic, q.Created, q.ScheduledAt))
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
