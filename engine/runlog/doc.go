// Package runlog keeps what scripts write with ctx.log and console, by run, in a stream of its own
// with limited retention.
//
// It is for people who look into a run. It is not state: nothing is decided on it, it is written
// behind and not synced line by line, the oldest lines go first, and a broker that cannot keep up
// loses lines rather than slow a run down. Lost lines are counted.
package runlog
