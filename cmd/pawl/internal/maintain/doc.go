// Package maintain does what `pawl maintain` does: it gives the evidence of a failed script to a maintainer, such as a
// language model, and the maintainer's answer to the engine as a repair.
//
// Guaranteed: a repair is judged by the engine alone, as one of a person is (F9): it keeps name, topics and
// subscriptions, needs nothing new, and each refused one counts against the workflow's budget (policies.repair.budget,
// engine/decide/repair.go). A workflow has one maintainer at work at a time, gets no more repairs in a day than the
// bound says (Loop.PerDay, care.go; counted in the engine's log, so that restarts do not matter), and none in quiet
// hours. What the engine wants repaired is read from its state: nothing is forgotten by a restart, and a request that a
// person has met meanwhile is dropped. With proposals, nothing is repaired before a person has done it.
//
// Not guaranteed: that a maintainer is right. A repaired script may do something else than its author meant, so let a
// person look at proposals where that matters. Loop.review is the place to weigh what would change outside.
package maintain
