// Package rest holds the commands under the heading Rest of `pawl --help`, each in the file of its name, but for
// bench and version, which have packages of their own.
package rest
