// Package node puts an engine together on an opened data directory (package storage). Node is the engine with its
// connectors, its script processes and the interface over HTTP (Endpoint) and NATS. `up`, `serve` and `bench` use it.
// Compose (compose.go) makes it, Operate (operate.go) runs it for one command, and Run (run.go) serves until it ends.
// The other parts have a file each: feed, outgoing, alerts, traces, recordings, operators (NATS), doctor, attention
// (workflows that do not go on), check (of the log) and heap.
//
// Guaranteed: closing its Data closes a Node, in the reverse order in which its parts were opened.
package node
