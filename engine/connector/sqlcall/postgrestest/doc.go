// Package postgrestest runs a server of PostgreSQL for a test, from the programs that the system has.
//
// What it guarantees: the server is the test's own, with its data in a folder that is removed with it; it listens on a
// socket in that folder and on no address, so that tests that run at the same time never meet; it ends with the test,
// also when the test is killed. A test on a system without the programs is skipped, and says so.
//
// Not guaranteed: that data outlives the server. It syncs nothing.
package postgrestest
