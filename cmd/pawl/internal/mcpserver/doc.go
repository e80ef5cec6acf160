// Package mcpserver offers an engine to language models over the Model Context Protocol: what `pawl mcp` serves.
//
// A tool is a row of one table (table.go) over the table of operations of package ops: its parameters are the fields of
// the operations that it calls, its answer is theirs, and the engine decides as it does for every other client. Only
// two things are decided in this package: which operations a model is offered, and the texts that tell it the next
// step.
//
// Guaranteed: a tool does nothing that the caller's token may not do, since the engine is asked with that token, and
// one that the token's role does not cover is not offered. An error names what happened and the next step; it is the
// answer of a tool, which a model sees, and not one of the protocol, which it does not. Over HTTP each request is
// carried out with the token that it brings.
//
// Not guaranteed: that what tools answer is harmless to read. Events, mails and results of calls come from outside and
// may be written to mislead a model; the instructions say so to it. Approvals are not offered: they are a person's.
package mcpserver
