// Package notices reports when the content at a path may have changed: also because a link on the way to the file was
// changed, or because an editor or a tool has put another file in the place of the old one.
//
// Guaranteed: the content that a file has when its writer is done is looked at, if the system reports changes. Where
// the system does not, an error says so.
package notices
