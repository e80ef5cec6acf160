// Package storetest has a disk without space, for tests of what keeps a local store.
//
// Guaranteed: while the disk is full, every change but the making of a folder fails with ENOSPC, and what is there can
// be read.
package storetest
