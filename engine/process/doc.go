// Package process is what all workflows of one engine share: Config, the clocks, the counts of calls and recordings
// under way, when it drains and ends (Process), the goroutines that record and make calls (Goroutines), the right to a
// partition (Tenure), and the errors of what could not be recorded. With it partitions and workflows do without the
// Engine, which holds them. Processes of the operating system are in sandbox/worker.
//
// Guaranteed: it knows none of the workflows. A tenure that does not hold, and a nil one, own nothing.
package process
