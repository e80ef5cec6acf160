// Package node puts an engine together on a data directory: the broker, the log and the local store, the engine with
// its connectors and workers, the interface over HTTP and NATS. `up`, `serve`, `bench` and, with the engine stopped,
// `verify` use it.
//
// Guaranteed: one process uses a data directory at a time. What was opened is closed in the reverse order, whatever
// fails in between. What tests replace are the fields of Parts.
package node
