// Package process is what all workflows of one engine share: the configuration, the counts of what is under way, the
// ends of what may be waited for, the tenure of a partition, and how work ends that the log does not take.
//
// Guaranteed: it knows none of the workflows. A tenure that does not hold, and a nil one, own nothing.
package process
