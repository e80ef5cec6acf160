// Package metrics are the figures of an engine for Prometheus.
//
// Guaranteed: a figure whose labels are known stands there, at 0, before its first count. Reading the figures changes
// nothing, and waits a bounded time for a log that does not answer.
//
// What happened is counted from the transitions that this engine records, so a counter begins at 0 with each start.
//
// Not guaranteed: that a workflow shows at once; it may be a flush of the local store late.
//
// How do I add a figure? A gauge: give it a description in metrics.go (partitions.go for the partitions, workers.go for
// the processes that run scripts), and name that in Describe and Collect. A counter of what the log says: make it in
// NewProgress and count it in Observe (progress.go). Any other counter: make it in New, and register it there. Name the
// figure in ops/OPERATIONS.md if a person should watch it.
package metrics
