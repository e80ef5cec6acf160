// Package builtin makes the connectors that this program has without a tool: maildir, files, csv, http,
// smtp, imap and sql.
//
// Guaranteed: where a script calls one of them that is not configured, the message names the setting that configures
// it. Connectors that are made without an engine ([Alone]) only say what they offer and what they refuse: nothing is
// called.
package builtin
