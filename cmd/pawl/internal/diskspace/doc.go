// Package diskspace watches the free space of a disk, and says how much of it the broker may take.
//
// Guaranteed: nothing new starts on a disk that could not take what becomes of calls that have left.
package diskspace
