// Package client finds the engine that a command talks to, and carries calls to it.
//
// Guaranteed: an engine that the caller has not named is asked nothing before it has proven to be the one of the
// data directory. A token goes only to an address that the caller named, or to the engine that wrote it. No error
// repeats a password.
package client
