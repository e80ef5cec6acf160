package eventlog

import (
	"errors"
	"fmt"
)

// The errors of a Log; test with errors.Is.
var (
	// ErrConflict: another writer wrote to the workflow; read on from the head and decide again.
	ErrConflict = errors.New("workflow was changed by another writer")
	// ErrUnconfirmed: it is not known whether the entry was written. Append the same entry again until that is known;
	// nothing else may be appended to the workflow before.
	ErrUnconfirmed = errors.New("append is not confirmed")
	// ErrTooLarge: the transition is larger than the log takes; nothing was written.
	ErrTooLarge = errors.New("transition is too large")
	// ErrFull: the store has no disk space; nothing was written.
	ErrFull = errors.New("log storage is full")
	// ErrDamaged: the log does not hold what it once acknowledged.
	ErrDamaged = errors.New("log is damaged")
	// ErrGone: nothing is left of a log that has existed; it is not created anew.
	ErrGone = fmt.Errorf("%w", ErrDamaged)
	// ErrNewerFormat: the log was written by a newer version.
	ErrNewerFormat = errors.New("log format is newer than this pawl reads")
	// ErrHeldFormat: the entry needs a newer format than the log may have yet, since not all programs that read the log
	// know that format; nothing was written.
	ErrHeldFormat = errors.New("the format of the log is held back")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("log is closed")
)

// ConflictError is an ErrConflict that names the workflow and the head on which the refused entry was decided.
type ConflictError struct {
	Workflow WorkflowName
	Expected Head
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("append to %s at revision %d: %v", e.Workflow, e.Expected.Revision+1, ErrConflict)
}

func (e *ConflictError) Unwrap() error { return ErrConflict }

// ErrUnreadable marks a stored transition that cannot be decoded. It stops its workflow loudly;
// it is never skipped.
var ErrUnreadable = errors.New("transition cannot be read")
