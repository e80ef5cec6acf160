// Package tunneltest is an HTTP proxy for tests, which knows what it was asked.
//
// Guaranteed: it connects to the addresses that the test gives for names, and to nothing else; it has ended when the
// test ends.
package tunneltest
