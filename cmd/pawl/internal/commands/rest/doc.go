// Package rest holds the commands under the heading Rest of `pawl --help`, each in the file of its name, but for
// bench and version, which have packages of their own.
//
// Guaranteed: backup writes into a new or empty folder only. restore makes a log only where there is none, or goes on
// with a restore that was interrupted.
package rest
