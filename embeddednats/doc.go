// Package embeddednats runs a NATS server with JetStream inside the process.
//
// Guaranteed:
//
//   - One process uses a data directory at a time: by a lock that the operating system frees when the process dies,
//     however it dies. [Server.Shutdown] returns when everything is closed and the directory is free again.
//   - Every JetStream write is synced before it is acknowledged, unless [Config.SyncInterval] says otherwise, also
//     where [Server.StageInMemory] is used.
//   - A server that listens on the network is authenticated, unless [Config.Insecure] says otherwise.
//   - No signal handler is installed.
//   - Where each update of a stream follows [Server.KeepMetadata], a process that is killed in the update loses no
//     stream: the next Start puts back what the stream's metadata was before the update.
//   - A damaged record on disk costs that message alone. After an unclean stop the server would cut its block off
//     there, with everything that was acknowledged behind it; so before it starts, such a record is marked as erased,
//     and the block as it was is kept below `damaged`. A clean stop is noted in the file `stopped`, so that the blocks
//     are read only where the server reads them too.
//   - Subscribers do not keep the engine from reading. All of them together may have 100 consumers for each stream,
//     which end five minutes at most after their last use; the engine has no such limit.
//   - Of the users ([Users], and one for each [Tool]) a tool serves its connector and answers, a subscriber reads the
//     log and the feed, an operator calls operations and pushes events, and nothing else.
//   - Tools are kept apart: no other tool gets a request, or can forge an answer or a description. So are operators:
//     none reads what another one is answered.
//   - The nodes of a cluster ([Cluster]) talk over mutual TLS, but on loopback, where it may be left out.
//   - The data of a server that was alone is never opened by a node of a cluster, which would delete its streams, nor
//     that of a node by a server that is alone, by another node or in another cluster. Both are refused before the
//     server starts, and nothing is changed.
//
// Not guaranteed:
//
//   - That tools which share the user [Connector] are kept apart. That user is let in from this machine only, and the
//     server writes a warning at its first use.
//   - That subscribers leave one another alone. A subscriber may use up the consumers of all subscribers, and it may
//     acknowledge in the place of another one.
//   - That the data is whole: JetStream starts on what is left, and package eventlog/jslog checks what it serves.
//   - That a node which has lost its data is recognised. It must be removed ([Remove]) and join under a new name: under
//     its old one it would vote as if it had what it once acknowledged.
//
// Accounts hold the users. Each kind of user has an account of its own, and so has each tool and each connection of an
// operator; the streams are in another account, which only the engine's own connections use. Permissions alone would
// not hold a user: the caller chooses the subject of the answer, and what answers (a service, JetStream, what a
// consumer delivers) is not checked against what the asker may publish. In an account of its own an answer meets
// nothing but inboxes, and what answers there may publish to inboxes only ([Server.ConnectServices], the users of
// tools).
//
// A NATS server that is not this one must be configured to the same effect, since a client cannot see
// what others may: only the engine's user may publish to pawl.log.>, pawl.own.>, pawl.feed.> and $JS.API.>;
// the service answers as a user that may publish to _INBOX.> only, never with allow_responses, which lets a
// user answer wherever it is told to; each tool has a user that may subscribe to pawl.tool.NAME.> (with a
// queue group), $SRV.PING, INFO and STATS with its own name behind them, and publish to inboxes of the engine
// that no other user may publish or subscribe to; or better, accounts as here. Nats-Trace-Dest follows the
// same permissions.
//
// Only cmd and tests import this package.
//
// Staging in memory ([Server.StageInMemory]) works around what nats-server 2.15.2 does: for a file stream of one
// replica it stages each atomic batch in a store of its own below streams/NAME/batches (about 20 system calls,
// 5 syncs and 5 removals) before it writes and syncs the batch itself. Measured with every write synced
// (BenchmarkAppendStaging of eventlog/jslog, six rounds in turn, median of the ratios, on a machine with other
// load): with 24 workflows that write at once memory takes 4.3 times as many appends a second for 0.46 of the
// processor time, with 64 workflows 3.6 times, with 256 workflows 1.7 times; with 8, where there are no batches,
// 0.8 times (0.6 to 1.4, which is noise). It costs no promise: an acknowledged message is synced in the stream
// either way, and the members of a batch are whole and fenced one by one. It can go when the server stages small
// batches without files.
package embeddednats
