// Package jslog keeps an [eventlog.Log] in NATS JetStream: one stream per partition, one message
// per transition. All knowledge of JetStream is in this package.
//
// Guaranteed, on top of the contract of [eventlog.Log]:
//
//   - An append is acknowledged only when the stream has acknowledged it: on the disk of a server
//     that syncs every write, on a majority of a cluster. A lost acknowledgement is resolved (confirm.go) by
//     sending the same bytes with the same fence again and, once that is refused, by reading from
//     the stream's leader what stands there. Broker-side deduplication is not relied on.
//   - A log that lacks something it once acknowledged is refused at Open ([eventlog.ErrDamaged])
//     or, where only reading shows it, reported by Read; it is never repaired or created anew in
//     silence. JetStream itself starts on damaged data without a word.
//   - A log whose mark ([Config.Mark]) exists is never created anew, however its writes are synced.
//   - What a person has accepted as lost, and what was set aside because it cannot be read or followed
//     ([Log.SetAside]), is remembered with the stream: readers pass over it, and the next append of the
//     workflow is fenced on what is there.
//   - With [Config.Mark] and [Config.EmbeddedSync], an acknowledged barrier entry cannot be lost
//     unnoticed: its sequence and hash are synced outside the stream before the acknowledgement.
//
// What an append costs does not grow with the log. For each atomic batch the server walks the blocks of the
// stream (8 MiB each, the most it allows) and syncs its index; measured with 10 thousand, 1 and 5 million
// transitions (1, 95 and 475 blocks), a batch of 64 takes 3.0, 3.1 and 3.1 ms of processor time, one of 256
// takes 6.8, 7.4 and 7.1 ms, and the number of syncs is the same. Only the first batch after a start looks at
// each block's size.
//
// Not guaranteed: that everything below the mark is whole, until it is read with an
// [eventlog.Chain]; durability on a server that was told to sync only now and then; protection
// from a writer that uses other subjects or another fence (all writers must be this package: a
// cluster compares fences literally); that a reading of one workflow sees what a damaged replica
// lacks. A reading of a partition asks the leader for that, and only what the leader lacks too is
// damage (replica.go).
package jslog
