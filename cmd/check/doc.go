// Check is the one command that says whether the tree is in order, for people and for CI:
//
//	go run ./cmd/check [-short | -all] [-run-tests=false] [packages]
//	go run ./cmd/check -only STEP
//
// It looks at the format, the imports, the layout and the length of the lines of every file of the module, at
// the rules that are cited (each is defined in engine/decide/RULES.md and has a test that bears its id) and at
// the links of the documents. It runs vet and staticcheck, checks the types on the other platforms, and then runs
// all tests. Each step and each package prints one line when it ends, a failing one also what it found. The last
// line counts the tests; skipped ones are listed with their reason. The exit code is 0 when every step is clean,
// 1 when one is not, 2 for wrong usage.
//
// Nothing but Go is needed. What needs another program, or takes much longer, is left out and named at the end.
// With -all nothing is left out: the tests run with the race detector, which needs a C compiler, and a program that
// is missing is a failure. Vet and staticcheck then read what the race detector builds, as the tests are built.
// -short is for the time between two changes: it leaves out long tests, and the other platforms.
//
// A line has at most 120 columns. What cannot be wrapped does not count: tags of fields, raw strings of several
// lines, rows of tables, and everything in a test's script but its comments.
//
// How do I add a step? It is a line in main.go and a method of tree in a file of its name. The script .ci/run installs
// what -all needs, and runs it.
//
// Packages (default ./...) narrow vet, staticcheck, the other platforms and the tests; the other steps
// always look at the whole module. Imports are read from the text of every file, so files for other
// platforms are checked too.
package main
