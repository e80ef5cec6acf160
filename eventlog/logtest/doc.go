// Package logtest is the conformance suite that every [eventlog.Log] passes: what the engine may
// rely on is what is tested here.
package logtest
