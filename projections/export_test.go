package projections

import (
	"cmp"
	"fmt"
	"iter"
)

// Innards lists all that a state holds, also the orders that no interface shows whole. Two states with the same innards
// are the same for every rule.
func Innards(s *State) map[string]any {
	all := map[string]any{"workflow": s.Workflow, "touched": s.Touched, "parked": s.Parked, "rekeyed": s.rekeyed,
		"partial": s.partial, "answered": s.answered, "missing": s.missing}
	list(all, "handler", s.handlers.all())
	list(all, "run", s.runs.all())
	list(all, "event", s.events.all())
	list(all, "mutation", s.mutations.all())
	list(all, "input", s.inputs.all())
	list(all, "session", s.sessions.all())
	list(all, "script", s.scripts.all())
	list(all, "pending", s.pending.all())
	list(all, "scheduled", s.scheduled.all())
	for topic := range s.queues.topics.all() {
		for q := range s.Queue(topic) {
			all[fmt.Sprintf("queued %s %v", topic, q.Created)] = q
		}
	}
	list(all, "lane", s.lanes.topics.all())
	list(all, "untried", s.lanes.untried.all())
	list(all, "tried", s.lanes.tried.all())
	list(all, "keyed", s.lanes.keyed.all())
	list(all, "taken", s.lanes.taken.all())
	list(all, "busy", s.lanes.busy.all())
	list(all, "place of open run", s.openRuns.places.all())
	list(all, "order of open runs", s.openRuns.order.all())
	list(all, "call of open run", s.openRuns.calls.all())
	list(all, "event of open run", s.openRuns.events.all())
	list(all, "version of open run", s.openRuns.versions.all())
	return all
}

func list[K cmp.Ordered, V any](all map[string]any, what string, entries iter.Seq2[K, V]) {
	for k, v := range entries {
		all[fmt.Sprintf("%s %q", what, fmt.Sprint(k))] = v
	}
}
