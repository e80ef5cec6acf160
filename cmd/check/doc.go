// Check is the one command that says whether the tree is in order, for people and for CI:
//
//	go run ./cmd/check [-short] [-run-tests=false] [packages]
//
// It looks at the format, the imports and the layout of every file of the module, at the rules that
// are cited (each is defined in engine/decide/RULES.md and has a test that bears its id) and at the
// links of the documents. It runs vet and staticcheck, and then all tests with the race detector. Each step prints one line, a failing one
// also what it found. The last line counts the tests; skipped ones are listed with their reason.
// The exit code is 0 when every step is clean, 1 when one is not, 2 for wrong usage.
//
// Packages (default ./...) narrow vet, staticcheck and the tests; the other steps always look at
// the whole module. Imports are read from the text of every file, so files for other platforms
// are checked too.
package main
