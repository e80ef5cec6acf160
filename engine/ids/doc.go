// Package ids makes the ids of transitions, runs and sessions: ULIDs that sort by the time of their making.
//
// Guaranteed: two engines never make the same id, since each id has 80 random bits of the machine, or is a little
// greater than such an id of the same millisecond. That is how an engine knows its own transition in the log when the
// acknowledgement was lost.
//
// Not guaranteed: that ids sort where the clock is set back; and that they are unique where New is given a source of
// random bits that repeats itself, as in a simulation.
package ids
