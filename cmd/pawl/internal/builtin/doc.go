// Package builtin makes the connectors that this program has without a tool: maildir, files, csv, http,
// smtp, imap and sql; and says how one is configured that a script asks for and that is not there.
package builtin
