// Package enginetest runs whole engines in a test: a log in memory, a store in memory, the real
// sandbox, and a world of scripted connectors.
//
// A [World] outlives engines, so that a test can stop one at any append, start another and look
// at what reached the outside. Nothing here is imported by production code.
//
// Guaranteed: a World counts every effect it has, by idempotency key, so that one that happened twice is seen
// ([World.Twice]).
package enginetest
