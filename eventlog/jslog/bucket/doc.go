// Package bucket is a small table in JetStream that several processes read and write by compare-and-set.
//
// Guaranteed: a value is written only over the one that its writer has seen. The leader of the stream answers every
// read: it knows all that was acknowledged. One that was deposed in the last seconds may answer too, but writes
// nothing. Nothing in the table expires.
package bucket
