// Package maintain gives workflows whose script has failed to a maintainer, such as a language model, and what it
// answers to the engine as a repair: what `pawl maintain` does.
//
// Guaranteed: a repair is judged by the engine alone, as one of a person is (F9): it keeps name, topics and
// subscriptions, needs nothing new, and each refused one counts against the workflow's budget. A workflow has one
// maintainer at work at a time, gets no more repairs in a day than the bound says (counted in the engine's log, so
// whatever is restarted), and none in quiet hours. What the engine wants repaired is read from its state: nothing is
// forgotten by a restart, and a request that a person has met meanwhile is dropped. With proposals, nothing is repaired
// before a person has done it.
//
// Not guaranteed: that a maintainer is right. A repaired script may do another thing than its author meant, so let a
// person look at proposals where that matters. The place to weigh what would change outside is Loop.review.
package maintain
