// Package kept says what a repair of a script has to keep of its definition (F9, C9).
//
// Guaranteed: two definitions are compared by what they say alone. Each setting that differs has a place, a sentence
// and what to write instead. The same two definitions give the same list in the same order.
package kept
