// Package schedule computes when something is due. Every function is pure: the time it starts from
// and the chance it uses are arguments, so that a decision can be replayed and a test can say what
// happens next.
//
// Nothing is started here. The next time of a producer is a fact, handler.scheduled. The runner sleeps until then
// (engine/runner.go), engine/decide/next.go finds the producer due, and engine/decide/start.go starts the run. Times
// that pass while the engine is stopped are made up for by one run, not one by one (S2, S6).
//
// Guaranteed:
//   - [Schedule.Next] is strictly later than its argument, and the same for the same argument and
//     zone database. A schedule that can never be due is refused by [Parse].
//   - Cron runs in its zone's local time. A local time that does not exist (clocks go forward) is
//     due as far after the jump as it was meant to be after it without one; one that exists twice
//     (clocks go back) is due once, the first time. A schedule for every hour counts real hours
//     instead: it is due in both of the repeated hours and skips the missing one.
//   - Delays ([Transient.Delay], [Reconcile.Delay], [JobBackoff]) never pass their maximum.
//
// Not guaranteed: that two zone databases agree. The one of the operating system wins over the
// embedded one. The time at which something is due is therefore stored as an absolute time in a fact, and a new
// database or policy changes only what is computed later.
package schedule
