// Package storage opens a data directory. Broker is the embedded NATS server with its listener; Data is the directory
// with its broker, log and local store, on which package node runs an engine. With the engine stopped, VerifyStopped,
// AcceptLoss, BackUpStopped and Restore work on it alone. Parts are the parts of an engine that a test replaces.
// NewWorkers starts script processes, which `pawl test` uses without a directory. A loss is accepted in accept_loss.go,
// accepting.go, loss.go and given_up.go; ahead.go rebuilds the store where the log has lost its end.
//
// Guaranteed: one process uses a data directory at a time. Everything that was opened is closed in the reverse
// order, whatever fails in between. An interrupted change of the log is continued at the next start.
package storage
