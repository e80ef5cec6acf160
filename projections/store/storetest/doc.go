// Package storetest has a disk without space, for tests of what keeps a local store.
package storetest
