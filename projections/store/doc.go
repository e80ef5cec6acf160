// Package store keeps what memory does not: finished runs, consumed events, the ledger, inputs,
// the dedupe index over all message ids, and how far the log was folded. It is local and
// disposable: everything in it can be rebuilt from the log, and deleting it means a replay and
// nothing else.
//
// Guaranteed:
//
//   - [Store.Commit] is atomic: rows and checkpoint become visible and durable together.
//   - Commits are kept in order. A crash may lose the latest of them (they are not synced one by
//     one), never one in the middle; what is found again is the store as it was after some
//     earlier commit.
//   - A workflow's rows are a consistent cut: its state at the revision in its core row. The
//     checkpoint of a partition is a low-water mark; a workflow's rows may be ahead of it, and end
//     before it only if the workflow is in [Store.Stops].
//   - [Store.Load] and [Store.Get] cost what they return, however long the history is. Of pending
//     events Load returns the places; [Queue] reads them one by one.
//   - A disk that takes no more writes, full or broken, makes commits, [Open] and [Store.Close] fail with
//     [ErrFailed] and its cause. Nothing waits for it or panics, what is committed stays readable, and
//     the disk is left as a crash would have left it.
//   - Everything read is checksummed. Damage ends in an error that wraps [ErrDamaged], and the
//     next [Open] starts empty; it never ends in wrong rows.
//
// That an id of an event or an input is new, a Bloom filter in memory (seen.go) says without a read. It is filled from
// the index after each [Open], in the background; until then, and with more than 33 million ids, each lookup reads. A
// crash costs it nothing: it is made anew at the next start.
//
// Not guaranteed: that a commit survives a crash of the machine, and that a store of another
// version can be read: [Open] empties it, and says so in [Store.Warnings]; then engine/replay.go fills it from the log.
// A change of how rows are laid out changes format() too.
//
// The store is an LSM tree (pebble). B-trees cost about the same per row, but without a sync
// per commit they lose their order in a crash, and none of them checksums its pages.
//
// The file system between pebble and the disk (overlay.go) is there for a disk that takes no more writes. Pebble
// 2.1.7 has no answer to one: it tries a failed flush again without a pause and makes commits wait for it, panics
// in a commit whose log cannot be written, panics with its locks held when it cannot begin another log, which
// ends the process, and never ends its Open on a disk that fills meanwhile. Without the overlay the tests of a
// full disk (TestFullDisk, TestAnyWriteMayBeTheLast, TestAFailedStoreCanBeReset) end in exactly these ways, and
// with the process ends every call whose outcome is not recorded yet. Reopening for reading alone would not do:
// what was committed last may not have reached the file. The overlay's cost is within the noise of
// BenchmarkCommit (median of six ratios 1.06, between 0.65 and 1.32, on a machine with other load).
package store
