//go:build cgo

package confine

// cgo tells that the C library makes this process's threads.
const cgo = true
