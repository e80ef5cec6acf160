// Package embeddednats runs a NATS server with JetStream inside the process.
//
// Guaranteed: one process per data directory (a lock that the operating system frees when the
// process dies, however it dies); every JetStream write is synced before it is acknowledged
// unless [Config.SyncInterval] says otherwise, also where [Server.StageInMemory] is used; a server that
// listens on the network is authenticated unless [Config.Insecure] says otherwise; no signal handler is
// installed; Shutdown returns when everything is closed and the directory is free again.
//
// Guaranteed for the users of [Users] and for each [Tool]: a tool serves its connector and answers, a
// subscriber reads the log and the feed, an operator calls operations and pushes events, and nothing else.
// Each kind has an account of its own, and so has each tool; the streams are in another account, which only
// the engine's own connections use. Permissions alone would not hold a user: the caller chooses the
// subject of the answer, and what answers (a service, JetStream, what a consumer delivers) is not checked
// against what the asker may publish. In an account of its own an answer meets nothing but inboxes, and what
// answers there may publish to inboxes only ([Server.ConnectServices], the users of tools). Accounts also
// keep tools apart: no other tool gets a request, or can forge an answer or a description. The user that
// tools may share protects none of them from the others, is let in from this machine only, and is warned of.
//
// A NATS server that is not this one must be configured to the same effect, since a client cannot see
// what others may: only the engine's user may publish to pawl.log.>, pawl.own.>, pawl.feed.> and $JS.API.>;
// the service answers as a user that may publish to _INBOX.> only, never with allow_responses, which lets a
// user answer wherever it is told to; each tool has a user that may subscribe to pawl.tool.NAME.> (with a
// queue group), $SRV.PING, INFO and STATS with its own name behind them, and publish to inboxes of the engine
// that no other user may publish or subscribe to; or better, accounts as here. Nats-Trace-Dest follows the
// same permissions.
//
// Guaranteed for the engine: subscribers do not keep it from reading. All of them together may have 100
// consumers for each stream, which end five minutes at most after their last use; the engine has no such limit.
//
// Not guaranteed: that subscribers leave one another alone. A subscriber may use up the consumers of all of
// them, and it may acknowledge in the place of another one. Nor that operators do: all of them are one user, and
// each can read the answers to the others.
// Nor that the data is undamaged: JetStream starts on what it finds, and package eventlog/jslog checks what
// it serves. Only cmd and tests import this package.
package embeddednats
