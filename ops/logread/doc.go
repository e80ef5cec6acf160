// Package logread reads the log for callers outside of the engine: in pages, or as a stream of server-sent events.
//
// Guaranteed: all partitions are read to their present ends in the order of time, and each partition in that of the
// log. A stream that is cut off is aborted, and a page says where the next one begins, so that no reader takes a part
// for the whole. A record that cannot be read is reported and passed over. The transitions of the installation itself,
// which hold tokens, are shown to no caller. A reader whose token is revoked gets nothing more.
//
// Not guaranteed: the order of transitions of different partitions in a stream that follows the log.
package logread
