package ops

import (
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// damaged reports whether the error says that a part of the log is lost or cannot be read.
func damaged(err error) bool {
	return errors.Is(err, eventlog.ErrDamaged) || errors.Is(err, eventlog.ErrUnreadable)
}

// foldedFrom says what a record that cannot be folded means where every record comes from the log: it
// lacks one, or holds one that nobody recorded.
func foldedFrom(err error) error {
	if errors.Is(err, projections.ErrBroken) && !damaged(err) {
		return fmt.Errorf("%w: %w", eventlog.ErrDamaged, err)
	}
	return err
}
