//go:build !race

package main

// raced says that the tests were built with the race detector.
const raced = false
