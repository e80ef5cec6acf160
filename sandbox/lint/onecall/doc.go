// Package onecall judges the mutation calls of a definition: a mutate sends one call and ends there (R4).
//
// It reads no text. The calls stand in the definition with what the text has after each. Where it is not known which
// operations are mutations, each is taken for one; a caller that knows asks again and drops the first answer.
package onecall
