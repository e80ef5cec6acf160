// Package embeddednats runs a NATS server with JetStream inside the process.
//
// Guaranteed: one process per data directory (a lock that the operating system frees when the
// process dies, however it dies); every JetStream write is synced before it is acknowledged
// unless [Config.SyncInterval] says otherwise, also where [Server.StageInMemory] is used; a server that listens on the network is
// authenticated unless [Config.Insecure] says otherwise; no signal handler is installed; Shutdown
// returns when everything is closed and the directory is free again.
//
// Guaranteed for the users of [Users]: a connector serves tools and answers, a subscriber reads the
// log and the feed, an operator calls operations and pushes events, and nothing else. A subscriber
// has an account of its own, because permissions alone would not hold it: JetStream sends its
// answers, and what consumers deliver, to any subject that the asker names.
//
// Not guaranteed: that tools are protected from one another, all connectors share one user; that a
// subscriber does not slow others down, it may create consumers, which end when it is gone for a day
// at most. Nor that the data is undamaged. JetStream starts on whatever it finds; package
// eventlog/jslog checks what it serves. Only cmd and tests import this package.
package embeddednats
