package projections

import (
	"slices"

	"github.com/pawl-run/pawl/eventlog"
)

// Needs lists what applying the facts will read and is not in memory. Once that is hydrated it may
// name more (an event's inputs); call it until it names nothing that has not been asked for.
func Needs(s *State, facts []eventlog.Fact) []Key {
	var need []Key
	registered := map[eventlog.InputID]bool{}
	want := func(k Key) {
		if !s.Has(k) && !slices.Contains(need, k) {
			need = append(need, k)
		}
	}
	inputs := func(ids []eventlog.InputID) {
		for _, id := range ids {
			if !registered[id] {
				want(InputKey(id))
			}
		}
	}
	published := map[string]bool{}
	event := func(topic eventlog.Topic, id eventlog.MessageID) {
		k := EventKey(topic, id)
		if published[k.ID] {
			return
		}
		want(k)
		if e, ok := s.events.get(k.ID); ok {
			inputs(e.CausedBy)
		}
	}
	started := map[eventlog.RunID]bool{}
	run := func(id eventlog.RunID) {
		if id != "" && !started[id] {
			want(RunKey(id))
		}
	}
	opened := map[eventlog.MutationID]bool{}
	mutation := func(id eventlog.MutationID) {
		if !opened[id] {
			want(MutationKey(id))
		}
	}
	owing := func(id eventlog.RunID) { // from now on the run and its mutation are live
		run(id)
		if r := s.Run(id); r != nil && r.Mutation != "" {
			mutation(r.Mutation)
		}
	}
	for _, f := range facts {
		switch f := f.(type) {
		case *eventlog.WorkflowDeployed:
			// From now on the pending events of what it subscribes to are live.
			for _, c := range f.Definition.Consumers {
				for _, topic := range c.Subscribe {
					want(PendingKey(topic))
					if c.Concurrent() && c.Key != "" {
						want(KeyedKey(topic, c.Name, c.Key))
					}
				}
			}
			for _, ref := range s.hidden() { // one may be deferred (C6)
				want(EventKey(ref.Topic, ref.MessageID))
			}
		case *eventlog.InputRegistered:
			registered[f.Input] = true
		case *eventlog.InputRetitled:
			inputs([]eventlog.InputID{f.Input})
		case *eventlog.EventPublished:
			published[EventKey(f.Topic, f.MessageID).ID] = true
			inputs(f.CausedBy)
		case *eventlog.EventTraced:
			event(f.Topic, f.MessageID)
		case *eventlog.EventRepublished:
			event(f.Topic, f.MessageID)
			inputs(f.CausedBy)
		case *eventlog.EventReserved:
			event(f.Topic, f.MessageID)
			run(f.Run)
		case *eventlog.EventTransferred:
			event(f.Topic, f.MessageID)
		case *eventlog.EventReleased:
			event(f.Topic, f.MessageID)
			run(f.Run)
		case *eventlog.EventRetryScheduled:
			event(f.Topic, f.MessageID)
			run(f.Run)
		case *eventlog.EventConsumed:
			event(f.Topic, f.MessageID)
			run(f.Run)
		case *eventlog.EventSkipped:
			event(f.Topic, f.MessageID)
		case *eventlog.EventSkipRequested:
			event(f.Topic, f.MessageID)
		case *eventlog.EventDiscarded:
			event(f.Topic, f.MessageID)
			run(f.Run)
		case *eventlog.EventRedriven:
			event(f.Topic, f.MessageID)
		case *eventlog.EventGivenUp:
			event(f.Topic, f.MessageID)
		case *eventlog.MutationGivenUp:
			mutation(f.Mutation)
		case *eventlog.EventHeld:
			event(f.Topic, f.MessageID)
		case *eventlog.EventFreed:
			event(f.Topic, f.MessageID)
		case *eventlog.EventDeferred:
			event(f.Topic, f.MessageID)
			run(f.Run)
		case *eventlog.HandlerProbingEnded:
			for _, ref := range s.ScheduledFor(f.Handler) {
				want(EventKey(ref.Topic, ref.MessageID))
			}
		case *eventlog.RunStarted:
			started[f.Run] = true
			run(f.RetryOf)
		case *eventlog.RunRetryOwed:
			owing(f.Run)
		case *eventlog.RunRetryCleared:
			run(f.Run)
		case *eventlog.RetryOwed:
			owing(f.Run)
		case *eventlog.MaintenanceEntered:
			run(f.Run)
		case *eventlog.RunSuspended:
			run(f.Run)
		case *eventlog.RunReactivated:
			run(f.Run)
		case *eventlog.RunAdvanced:
			run(f.Run)
		case *eventlog.RunPrepared:
			run(f.Run)
			for _, c := range f.Cancel { // how deep they are in their chain (R20)
				event(c.Topic, c.MessageID)
			}
		case *eventlog.RunCommitted:
			run(f.Run)
		case *eventlog.RunFailed:
			run(f.Run)
		case *eventlog.RunCrashed:
			run(f.Run)
		case *eventlog.MutationApprovalRequested:
			opened[f.Mutation] = true
			run(f.Run)
		case *eventlog.MutationRefused:
			opened[f.Mutation] = true
			run(f.Run)
		case *eventlog.MutationStarted:
			if s.Mutation(f.Mutation) == nil {
				opened[f.Mutation] = true
			}
			run(f.Run)
			for _, e := range s.ReservedBy(s.Run(f.Run)) {
				inputs(e.CausedBy)
			}
		case *eventlog.MutationApproved:
			mutation(f.Mutation)
		case *eventlog.MutationApplied:
			mutation(f.Mutation)
			run(f.Run)
		case *eventlog.MutationFailed:
			mutation(f.Mutation)
			run(f.Run)
		case *eventlog.MutationSkipped:
			mutation(f.Mutation)
			run(f.Run)
		case *eventlog.MutationReconcileScheduled:
			mutation(f.Mutation)
		case *eventlog.MutationResent:
			mutation(f.Mutation)
		case *eventlog.MutationLeftIndeterminate:
			mutation(f.Mutation)
		case *eventlog.MutationCommented:
			mutation(f.Mutation)
		case *eventlog.MutationContradicted:
			mutation(f.Mutation)
		}
	}
	return need
}
