// Package node puts an engine together on a data directory. Broker is the embedded NATS server with its listener; Data
// is the opened directory: broker, log and local store; Node is the engine on it with its connectors, its script
// processes and the interface over HTTP (Endpoint) and NATS. `up`, `serve` and `bench` use a Node; with the engine
// stopped, VerifyStopped and AcceptLoss use Data alone.
//
// Guaranteed: one process uses a data directory at a time. Everything that was opened is closed in the reverse
// order, whatever fails in between. Tests replace the fields of Parts.
package node
