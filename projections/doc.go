// Package projections folds the log into state. It is pure: no clock, no I/O, no randomness.
//
// [Apply] is the only way state changes. It takes a state and the next record and returns a new state. States are
// passed by pointer, and one that was returned is never written to again. Each entity is immutable once it is in a
// State: a change replaces the pointer. Their types stand in entity.go. A decision folds its facts in a [Draft] before
// they have a place in the log; [Folded] gives the state after the record from that, without a second fold.
//
// A state holds live work: reserved events, pending events of topics with a subscriber, the current run, what a pending
// retry needs, the open runs of concurrent consumers with their mutations and scripts, handler states. Everything else
// leaves it through [State.Evict] once it is kept elsewhere, and comes back when the fold of a later fact looks it up:
// Apply then asks for it by a [*Missing], and [Replay] answers. What is known to be looked up can be read before the
// fold ([State.Unread]). A deploy asks for the pending events of each topic that it subscribes to anew.
//
// Of a long backlog a state holds the places only ([State.Queue]): the events themselves are paged out
// by [State.PageOut] and come back by [State.Hydrate], for a fact that names them or for a look.
//
// What may leave memory, leaves it and comes back is in eviction.go, and of a backlog in queue.go. The order in which a
// concurrent consumer is offered its events, one of each key at a time (C2), is in keyorder.go.
//
// Guaranteed:
//
//   - A state that was returned stays valid and unchanged: a reader may keep it for as long as it likes, and to try a
//     decision on it costs only a copy of the State and of the entities that the decision touches.
//   - The same records fold into the same state.
//   - A fold that evicts and one that never does, which holds the whole history and asks for nothing, agree on every
//     entity.
//   - Apply refuses what cannot follow: a gap in revisions, a broken hash, an unknown fact, an entity that is not
//     there, a phase that goes backwards. Such an error stops the workflow; it is never skipped.
//
// Not guaranteed: that two writes may run beside each other. Apply, a [Draft], [Folded.Apply], Hydrate, Evict and
// PageOut must not run at the same time on states that were made from one another: the caller holds the lock that
// serializes decisions.
package projections
