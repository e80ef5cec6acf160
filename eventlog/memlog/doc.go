// Package memlog is an [eventlog.Log] in memory, for tests and for trying things out.
//
// Guaranteed: the whole contract of [eventlog.Log] but durability; stored bytes are kept and
// decoded at every read, so whatever cannot be stored fails here as it would on disk. It uses no
// clock and no goroutine, so it works inside a testing/synctest bubble.
//
// Not guaranteed: anything after the process ends. [Config.Fault] lets a test refuse an append,
// lose its acknowledgement or report a full store.
package memlog
