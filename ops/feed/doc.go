// Package feed publishes what the log records, one message for each fact, for systems that follow what happens. The
// form of a message, and how to follow, is in ops/FEED.md.
//
// Guaranteed: every fact of the log is published once, those of a partition in the order of the log, with no gap and no
// repetition, however often the process is killed. The feed holds its own position: the header of its last message says
// how far the log is published, and each message is fenced by the sequence of the one before it, so that of two feeders
// that run at once only one publishes anything. After a start, a lost acknowledgement, a fence or a full disk the
// feeder always goes on in the same way: it reads the last message and goes on behind it (resume.go). No lease is
// needed for that. Where several engines share a log, [Feeder.Run] is one of their Duties, which saves work. It may be
// called again and again.
//
// Messages are not synced one by one, and a killed process may lose messages that a follower has just received. They
// are published again with the same sequences: with one partition the fact at a sequence follows from the log alone. So
// a follower that goes on behind the sequence it knows receives no fact twice. A durable consumer may receive a fact
// twice, since its acknowledgements are not synced either. If its position is beyond the feed's end after a start, the
// server sets it back to that end. All this holds after a power failure too, unless the log itself has lost its end
// (because it is not synced with each write, or a loss was accepted). Then the feed goes on with what the log recorded
// instead, and the facts of the workflows concerned say what was lost.
//
// A part of the log that cannot be read is announced at its place, and the feed goes on. Records that were accepted as
// lost or set aside are passed over: the workflows concerned have a fact that says so. The transitions of the
// installation itself are not published.
//
// Not guaranteed: that a fact is still there. The feed keeps a bounded number of bytes, and drops the oldest first. A
// stream whose folder an operator deletes is made again and filled from the beginning of the log. The order of facts of
// different partitions is not guaranteed either.
//
// Its cost (BenchmarkFeed, two processors with other load): 8 to 10 µs of processor time for each fact, from the record
// to the acknowledgement, the server's part included. A run of a consumer has ten to fifteen facts: 0.1 ms and more of
// processor time, and about 10 kB of disk. Without a follower that cost is for nothing, so the feed is off unless
// --feed asks for it. Records come from the engine's memory (Observe), which saves reading and decoding them again;
// the log is read only for records that are not there. Messages are sent one by one: an atomic batch would be synced,
// which the feed does not need.
package feed
