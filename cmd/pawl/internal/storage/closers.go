package storage

import "errors"

// Closers close everything that was opened, the last first. All parts of one data directory share them.
type Closers struct{ undo []func() error }

func (c *Closers) Add(f func() error) { c.undo = append(c.undo, f) }

// close calls every function, also after one has failed, and returns all failures. A second call does nothing.
func (c *Closers) close() error {
	var errs []error
	for i := len(c.undo) - 1; i >= 0; i-- {
		errs = append(errs, c.undo[i]())
	}
	c.undo = nil
	return errors.Join(errs...)
}
