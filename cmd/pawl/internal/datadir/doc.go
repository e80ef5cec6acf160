// Package datadir knows the files of a data directory that one program writes and another reads: the address, the
// token, and the URLs of the NATS listener.
//
// Guaranteed: a reader sees the old or the new content of a file, never a part, also after a crash. A token is
// read only from a file that is closed to other users.
package datadir
