// Package processtest runs a server that the system has as a process of a test.
//
// What it guarantees: the server has a folder of its own, which is removed with the test, and runs as a user without
// privileges; it ends with the test, also when the test is killed.
package processtest
