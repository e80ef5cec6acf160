// Package builtin makes the connectors that this program has without a tool: maildir, files, csv, http,
// smtp, imap and sql. Where a script asks for one that is not configured, it says how that is done.
package builtin
