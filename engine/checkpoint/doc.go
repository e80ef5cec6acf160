// Package checkpoint says how far a partition of the log is dealt with, and how much the local store lacks of it.
//
// Guaranteed: what Progress calls dealt with has no gap but what was accepted as lost. Records that are dealt with out
// of order are kept as the stretches between the gaps. Lag holds back new work once the store lacks too much. Nothing
// here reads the log or writes the store.
package checkpoint
