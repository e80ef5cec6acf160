// Package tools finds the connectors that other programs bring over NATS, and admits tools that have a user of their
// own to the NATS server.
//
// Guaranteed: no tool takes the place of a built-in connector, and no other tool answers for a tool with a user of its
// own.
package tools
