// Package onecall judges the mutation calls of a definition: a mutate sends one call and ends there (R4).
//
// It reads no text. The calls stand in the definition with what the text has after each; a caller that knows which
// operations are mutations asks again.
package onecall
