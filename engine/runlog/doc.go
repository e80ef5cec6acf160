// Package runlog keeps what scripts write with ctx.log and console, by run, in a stream of its own. It is for people
// who look into a run. It is not state: nothing is decided on it.
//
// Guaranteed:
//
//   - The stream is bounded, in bytes and in age: the oldest lines go first.
//   - Writing never slows a run down: it does not wait for the broker.
//   - Messages that the broker has not taken are counted ([Stream.Lost]).
//
// Not guaranteed: that a line is kept. Lines are written behind and not synced one by one, and a broker that cannot
// keep up loses some.
package runlog
