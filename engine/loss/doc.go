// Package loss records that a part of a log is gone for good, so that its workflows go on without it.
//
// Guaranteed:
//
//   - What is missing, unreadable or cannot be folded is found by reading the log; the local store only adds what it
//     knows of the part that is given up, as far as it belongs to this log.
//   - [Record] lets a workflow go on only after its loss is recorded in its log; until a person decides, it holds what
//     may have been done already. Interrupted and repeated, it ends the same.
//   - What an acceptance has left to a person can be told again, from the log ([StillHeld]).
//   - Where workflows may be lost with their names, a name without a past is held at its first deploy, until a person
//     has confirmed that all names are known. The log holds that word ([ConfirmNames]).
//   - A log that lacks what the local store has seen of it is noticed ([FindAhead], [Witness]).
//
// Not guaranteed: that it is safe while an engine runs on the log. It must not.
package loss
