// Package capability says what a workflow's grants allow: which operations its scripts may call, at which hosts, and
// which secrets they may use. It is pure; grants change in engine/decide.
//
// Guaranteed:
//
//   - The most specific entry that matches a call wins. Of two that are equally specific, the stricter one wins.
//   - Without an entry a read is allowed, and a mutation asks a person.
//   - A grant that this version does not know denies.
//   - A secret is allowed only by an entry with its own name; no pattern allows it.
package capability
