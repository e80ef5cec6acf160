// Package memory is what the engine keeps of one workflow: the newest state, and what of it the local store does not
// have yet.
//
// Guaranteed: an entity leaves memory only after the store has its newest version.
package memory
