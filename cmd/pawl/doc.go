// Command pawl runs durable automations: `pawl up` is an engine with everything it needs inside,
// the other commands talk to a running one.
//
// Guaranteed: results go to standard output, progress and complaints to standard error; a complaint
// says what happened, to what, and what to do next; without a terminal there are no escape codes
// and no questions. The exit code is 0 for done, 1 for refused or failed, 2 for wrong usage or
// configuration, 3 for finished although a workflow needs a person, 4 when no engine was reached.
// A result that could not be written is a failure. The first interrupt lets handlers end and writes
// everything down, the second ends at once. An engine needs nobody who reads what it prints, and takes
// the end of its terminal for a first interrupt.
//
// Not guaranteed: the text that people read. Programs use --json, which is what the HTTP interface
// answers, or that interface itself.
//
// This is the one place that knows every package: compose.go puts them together.
package main
