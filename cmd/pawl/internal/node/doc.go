// Package node puts an engine together on an opened data directory (package storage). Node is the engine with its
// connectors, its script processes and the interface over HTTP (Endpoint) and NATS. `up`, `serve` and `bench` use it.
//
// Guaranteed: closing its Data closes a Node, in the reverse order in which its parts were opened.
package node
