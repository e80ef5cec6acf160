package store

import (
	"errors"
)

// The errors of a Store; test with errors.Is.
var (
	// ErrDamaged: the store does not hold what it once wrote. Nothing is lost: Reset it, or
	// open it again, and replay the log.
	ErrDamaged = errors.New("local store is damaged")
	// ErrFailed: a write failed, most likely because the disk is full; the error says why. The store
	// can be read and takes no more commits until it is opened again; the log has all that it lacks.
	ErrFailed = errors.New("local store cannot be written")
	// ErrLocked: another process has the store open.
	ErrLocked = errors.New("local store is in use by another process")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("local store is closed")
)
