// Package replay reads logs from their beginning: the past of one workflow, and a check of all.
//
// Guaranteed: a fold leaves nothing out and evicts nothing; what cannot be folded is damage of the log. Verify finds
// each gap, each record that cannot be read or does not follow, and each row of the local store that differs from what
// the log says. It changes nothing, and an engine may go on meanwhile.
//
// Not guaranteed: speed. It takes as long as the log is.
package replay
