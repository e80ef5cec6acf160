// Package durable writes small files that must survive a crash and the loss of power: marks, identities, notes of what
// is under way.
//
// Guaranteed: after an error, a crash or the loss of power the file has its old content or the new one, never a part.
// When a call returns without an error, the new content survives.
//
// Not guaranteed: anything on a disk that says it has written what it has not; on Windows, that a rename has reached
// the disk.
package durable
