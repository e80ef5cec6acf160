// Package logtest is the conformance suite that every [eventlog.Log] passes: what the engine may
// rely on is what is tested here.
//
// Not guaranteed: that a log which passes survives a power failure or the end of its process. The suite causes neither.
package logtest
