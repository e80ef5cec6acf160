// Command pawl runs durable automations: `pawl up` is an engine with everything it needs inside,
// the other commands talk to a running one.
//
// Guaranteed: results go to standard output, progress and complaints to standard error; a complaint
// says what happened, to what, and what to do next; without a terminal there are no escape codes
// and no questions. The exit code is 0 for done, 1 for refused or failed, 2 for wrong usage or
// configuration, 3 for finished although a workflow needs a person, 4 when no engine was reached.
// A result that could not be written is a failure. The first interrupt lets handlers end and writes
// everything down, the second ends the process at once. An engine goes on if its output is not read any more, and
// treats the end of its terminal as a first interrupt. On Linux a command that runs an engine starts itself once more
// in the same process, before it does anything (timers_linux.go).
//
// Not guaranteed: the text that people read. Programs use --json, which prints the answers of the HTTP
// interface, or that interface itself.
//
// Where things are: the file of a command has its name and is in internal/commands, in the folder of the
// heading under which `pawl --help` lists it; bench and version, which are more than a command, have packages of their
// own. The commands use the other internal packages, and not each other: internal/client finds the engine,
// internal/storage opens a data directory and internal/node runs an engine on it, internal/config computes the
// settings, internal/term prints, internal/exit says how a command ends.
//
// How do I add a command? Write a file with its name in the folder of its heading, holding a struct whose fields are
// its arguments and flags. Give the struct a method Run that takes what it needs of context.Context, term.Screen,
// config.Reader, *client.Finder and storage.Parts; program.go hands these out, and a test says when one is missing.
// Add a field of the struct's type to commandLine in cli.go, with its help and heading. Add a script to testdata/script
// that runs it as a person would. Name it in ops/OPERATIONS.md or sandbox/SCRIPTS.md if a person needs it there.
package main
