// Package natstest starts embedded NATS servers for tests, on temporary directories.
//
// Guaranteed: connections are closed and servers shut down when the test ends, last opened first,
// so that a test's own cleanups still find them. Not guaranteed: the speed of the disk; writes are
// synced one by one unless Fast is used.
package natstest
