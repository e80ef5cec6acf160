// Package notices tells when files may have changed: those of links on the way to them too, and also where an editor or
// a tool puts another file in the place of the old one.
//
// Guaranteed: what a file holds when its writer is done is looked at, if the system tells of changes. Where it does
// not, that is said.
package notices
