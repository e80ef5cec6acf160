// Package hint lists what a caller can do about an answer, such as an operation that is refused, and an operator about
// a message of the log. The rules choose a code, and name the workflow, event or mutation that it is about.
//
// Not here: the texts. They name commands, which an interface has and the rules do not know. All interfaces take them
// from one table, in package ops/explain.
//
// How do I add a hint? Give it a code in code.go and its text in ops/explain/hint.go; a test says when one is missing.
package hint
