// Package problem says how an operation's error is told to its caller: as which problem document, with which status and
// hint.
//
// Guaranteed: an error that has no place in the list is a fault of the engine: its text stays in the engine's log.
package problem
