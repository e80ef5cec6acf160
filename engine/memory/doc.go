// Package memory is what the engine keeps of one workflow: the newest state, and what of it the local store does not
// have yet.
//
// Guaranteed: what the store does not have as memory has it never leaves memory.
package memory
