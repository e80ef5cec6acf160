// Package foldtest makes random but valid histories, for tests of folds and of what is built on them.
//
// It decides nothing like the engine does: it knows just enough to write facts that may follow
// each other, including rare ones (late settlements, redrives, redeploys in the middle of a run).
//
// Guaranteed: every history can be folded, and the same seed makes the same history.
package foldtest
