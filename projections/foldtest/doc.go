// Package foldtest makes random but valid histories, for tests of folds and of what is built on
// them. The same seed makes the same history.
//
// It decides nothing like the engine does: it knows just enough to write facts that may follow
// each other, including rare ones (late settlements, redrives, redeploys in the middle of a run).
package foldtest
