// Package script turns the text of a workflow script into a program for the interpreter, and shows what the text
// says without running it.
//
// Guaranteed:
//   - Compile refuses every import, and lowers TypeScript and newer syntax to what the interpreter runs. A text
//     that the compiler cannot digest is a problem of the script, never a panic.
//   - Every place it gives is one of the author's own file, or unknown: no line of generated code is taken for one
//     of the author's.
//   - Text proves that something is written, never that it is not: what cannot be followed is left out.
//
// Not guaranteed: that compiling ends soon or in little memory. A text of others is compiled in a worker process.
package script
