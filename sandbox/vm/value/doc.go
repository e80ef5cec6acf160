// Package value takes values into a runtime of the interpreter and out of it, as JSON text.
//
// Guaranteed: making a value of JSON text runs no code of the script, and asking what kind of value one is touches
// none of its members. Encode runs getters and toJSON, and belongs under the deadline of the call.
//
// Why the reader of JSON is its own: it makes values of the interpreter in one pass, without a copy of ASCII text, and
// keeps half of a surrogate pair as the language does. jsontext (go-json-experiment v1.27.2) refuses "\ud800", or
// replaces it by U+FFFD where invalid text is allowed, so that state would change between two runs.
//
// Why plain data is written here too: the interpreter would write it, and then all of it would be looked at again for
// what JSON loses. Other data takes that way.
package value
