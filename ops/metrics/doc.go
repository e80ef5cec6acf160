// Package metrics are the metrics of an engine for Prometheus.
//
// Guaranteed: a metric whose labels are known exists, with the value 0, before its first count. Reading the metrics
// changes nothing, and waits a bounded time for a log that does not answer.
//
// Counters count the transitions that this engine records, so they begin at 0 with each start.
//
// Not guaranteed: that a new workflow shows at once; it shows after the next flush of the local store.
//
// How do I add a metric? A gauge: give it a description in metrics.go (partitions.go for the partitions, workers.go for
// the processes that run scripts), and name that in Describe and Collect. A counter of facts of the log: make it in
// NewProgress and count it in Observe (progress.go). Any other counter: make it in New, and register it there. Name the
// metric in ops/OPERATIONS.md if a person should watch it.
package metrics
