// Package exit says how a command ends: the exit codes, and failures that carry their code and the next thing to do.
//
// Guaranteed: the codes are part of the interface and keep their meaning. A Failure says what is wrong, and its hint
// what to do; it wraps the error that caused it.
package exit
