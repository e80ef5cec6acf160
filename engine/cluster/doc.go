// Package cluster holds no code: its tests run several engines on one log in JetStream, which share its partitions,
// and end, cut off or replace some of them.
//
// At its end every test has each order sent once, every acknowledged push worked off, and what each engine holds equal
// to the fold of the log.
package cluster
