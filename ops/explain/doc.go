// Package explain says what a workflow does or waits for, since when, because of which run, event or call, whether it
// goes on by itself, and which commands a person has.
//
// Guaranteed: it decides nothing itself, and renders what the rules say (decide.Owed, decide.Wait). Each reason to wait
// has a text of its own, and each command that it names is accepted in that very state.
//
// The texts of all hints (package engine/hint) are here too, in one table, for the command line, HTTP and NATS alike.
//
// Not guaranteed: that history is known. Where a run is not in memory any more, the explanation says less.
package explain
