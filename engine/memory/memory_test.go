package memory

import (
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// What is on its way to the store stays in memory: the row that is there is older, and a decision
// that read it would contradict the log. An earlier flush has made the entity evictable.
func TestNothingIsEvictedOnItsWayToTheStore(t *testing.T) {
	t.Parallel()
	key := projections.EventKey("orders", "a")
	finished := new(projections.State).Hydrate(
		&projections.Workflow{Name: "shop", Head: eventlog.Head{Revision: 4}},
		&projections.TopicEvent{Topic: "orders", MessageID: "a", Status: eventlog.EventStatusSkipped},
	)
	for name, c := range map[string]struct {
		dirty, flushing, stays bool
	}{
		"changed since":        {dirty: true, stays: true},
		"on its way":           {flushing: true, stays: true},
		"as the store has it":  {},
		"on its way and again": {dirty: true, flushing: true, stays: true},
	} {
		m := Memory{dirty: map[projections.Key]struct{}{}, flushing: map[projections.Key]struct{}{},
			evictable: []projections.Key{key}}
		m.current.Store(finished)
		if c.dirty {
			m.dirty[key] = struct{}{}
		}
		if c.flushing {
			m.flushing[key] = struct{}{}
		}
		m.Evict(projections.Window{})
		if stays := m.State().Event("orders", "a") != nil; stays != c.stays {
			t.Errorf("%s: in memory %v, want %v", name, stays, c.stays)
		}
	}
}
