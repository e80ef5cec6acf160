// Package peer carries requests between the engines of a cluster, over NATS: what is to be recorded in a partition goes
// to the engine that owns it.
//
// Guaranteed: a request that no engine has received is told from one whose answer is lost. Only engines may publish to
// these subjects; the permissions of the other users of a server say so.
package peer
