// Package tools finds the connectors that other programs bring over NATS, and lets in those that have a user of
// their own.
//
// Guaranteed: no tool takes the place of a built-in connector, and none answers for a tool with a user of its own.
package tools
