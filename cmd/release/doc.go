// Command release builds the archives of a release: the program for each system, its completion files, the unit for
// systemd, README and licence, and a file of checksums. It runs in the folder of go.mod:
//
//	go run ./cmd/release --out dist
//
// Guaranteed: an archive names the version that its program prints, nothing is built from uncommitted changes, and the
// same commit built by the same Go makes the same bytes.
//
// Not guaranteed: signatures. The checksums say what was built, not by whom.
package main
