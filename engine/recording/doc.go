// Package recording keeps what prepare of chosen workflows was given: its events, its state, and the answers of its
// reads; and the same of producers in the runs in which they have published something. A new script can be run on
// that later, to see what it would do differently (package effectdiff).
//
// Guaranteed: a recording holds what the script was shown and nothing else, so that secrets of the configuration are
// blanked in it as they are for the script. What is kept is bounded by number, size and age; the oldest goes first.
//
// Not guaranteed: that each run is kept. A recording is no fact: it is written behind, it is not synced, and one that
// cannot be written is counted and left out.
package recording
