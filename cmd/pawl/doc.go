// Command pawl runs durable automations: `pawl up` is an engine with everything it needs inside,
// the other commands talk to a running one.
//
// Guaranteed: results go to standard output, progress and complaints to standard error; a complaint
// says what happened, to what, and what to do next; without a terminal there are no escape codes
// and no questions. The exit code is 0 for done, 1 for refused or failed, 2 for wrong usage or
// configuration, 3 for finished although a workflow needs a person, 4 when no engine was reached.
// A result that could not be written is a failure. The first interrupt lets handlers end and writes
// everything down, the second ends at once. An engine needs no reader of what it prints, and takes
// the end of its terminal for a first interrupt.
//
// Not guaranteed: the text that people read. Programs use --json, which is what the HTTP interface
// answers, or that interface itself.
//
// Where things are: a command's file has its name and stands in internal/commands, in the folder of the
// heading under which `pawl --help` lists it; bench and version, which are more than a command, have packages of their
// own. The commands use the packages beside them, and not each other: internal/client finds the engine,
// internal/storage opens a data directory and internal/node puts an engine on it, internal/config comes to the
// settings, internal/term prints, internal/exit says how a command ends.
//
// How do I add a command? Write a file with its name in the folder of its heading, holding a struct whose fields are
// its arguments and flags. Give the struct a method Run that takes what it needs of context.Context, term.Screen,
// config.Reader, *client.Finder and storage.Parts; program.go hands these out, and a test says when one is missing.
// Add a field of the struct's type to commandLine in cli.go, with its help and heading. Add a script to testdata/script
// that runs it as a person would. Name it in ops/OPERATIONS.md or sandbox/SCRIPTS.md if a person needs it there.
package main
