// Package runtask has the scripts and questions that are at work for the runs of one workflow.
//
// Guaranteed:
//
//   - A run has one task at a time. A task that has ended stays entered until it is collected: only then may begin
//     what its run owes next.
//   - A task's end is told after it can be collected, so a caller that collects then misses none.
//   - Stop ends the scripts of the runs that have ended, and no others.
//
// Not guaranteed: that a task outlives its process. What it had not recorded by then is lost; the log has the run as
// active, and the next start marks it as crashed.
package runtask
