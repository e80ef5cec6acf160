// Package clock is where the engine's time comes from: the machine's clock, or one that a person or a test moves.
//
// Guaranteed: a manual clock moves only when it is told to, never back, and it never passes a moment that is
// waited for.
//
// Elapsed measures time by a clock that cannot be set. Deadlines of calls, and leases, use it.
package clock
