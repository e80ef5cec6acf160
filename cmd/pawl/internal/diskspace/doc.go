// Package diskspace watches the free space of a disk, and says how much of it the broker may take.
//
// Guaranteed: nothing new starts on a disk on which the outcomes of calls that have left could not be recorded.
package diskspace
