// Package runtask keeps the tasks of one workflow: the scripts and questions that are at work for its runs.
//
// Guaranteed:
//
//   - A run has one task at a time. After a task of Begin has ended, its run gets no other until Collect has forgotten
//     it. A task of Do is forgotten as it ends.
//   - The end of a task of Begin is told only after Collect finds it, so a caller that then collects misses none.
//   - Stop ends the scripts of the runs that have ended, and no others.
//
// Not guaranteed: that a task outlives its process. What it had not recorded by then is lost; the log has the run as
// active, and the next start marks it as crashed.
package runtask
