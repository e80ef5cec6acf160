// Package storetest has a disk without room, for tests of what keeps a local store.
package storetest
