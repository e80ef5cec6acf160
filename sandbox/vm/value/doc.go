// Package value takes values into a runtime of the interpreter and out of it, as JSON text.
//
// Guaranteed: making a value of JSON text runs no code of the script, and asking what kind of value one is touches
// none of its members. Encode runs getters and toJSON, and belongs under the deadline of the call.
package value
