// Package replay reads logs from their beginning: for the past of one workflow, and for a check of all.
//
// Guaranteed: a fold leaves nothing out and evicts nothing; a record that cannot be folded is damage of the log. Verify
// finds each gap, each record that cannot be read or does not follow the one before it, and each row of the local store
// that differs from the log. It changes nothing, and an engine may run meanwhile.
//
// Not guaranteed: speed. The time grows with the length of the log.
package replay
