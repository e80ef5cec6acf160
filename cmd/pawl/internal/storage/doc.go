// Package storage opens a data directory. Broker is the embedded NATS server with its listener; Data is the directory
// with its broker, log and local store, on which package node runs an engine. With the engine stopped, VerifyStopped,
// AcceptLoss, BackUpStopped and Restore work on it alone. Parts are what tests put in the place of an engine's own.
// NewWorkers starts script processes, which `pawl test` uses without a directory. A loss is accepted in accept_loss.go,
// accepting.go, loss.go and given_up.go; ahead.go lets the store give way to a log that lost its end.
//
// Guaranteed: one process uses a data directory at a time. Everything that was opened is closed in the reverse
// order, whatever fails in between. What was begun on the log and interrupted goes on at the next start.
package storage
