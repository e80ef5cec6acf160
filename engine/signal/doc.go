// Package signal has the ways in which the parts of an engine wait for each other: a bell that wakes one runner, a
// change that any number of callers wait for, and a count of what is under way.
//
// Guaranteed:
//
//   - No ring of a Bell is lost: one that comes while the runner works wakes it once more. All that come meanwhile
//     count as one.
//   - Change.Wait misses no Notify: what holds before a Notify is seen by each caller that waits then or waits later.
//   - InFlight.End returns when nothing is under way. After that Begin lets nothing begin.
package signal
