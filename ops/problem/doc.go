// Package problem turns the error of an operation into the problem document for its caller, with a status and a hint.
//
// Guaranteed: an error that is not in the list counts as a fault of the engine: only the engine's log has its text.
package problem
