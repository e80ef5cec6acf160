package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Damaged reports whether the error says that a part of the log is lost or cannot be read.
func Damaged(err error) bool {
	return errors.Is(err, eventlog.ErrDamaged) || errors.Is(err, eventlog.ErrUnreadable)
}

// foldedFrom says what a record that cannot be folded means where every record comes from the log: it
// lacks one, or holds one that no engine recorded.
func foldedFrom(err error) error {
	if errors.Is(err, projections.ErrBroken) && !Damaged(err) {
		return fmt.Errorf("%w: %w", eventlog.ErrDamaged, err)
	}
	return err
}

// Fold replays the workflow's log from its beginning, evicting nothing, and shows each state with how many bytes of the
// log it was made of: about what it takes in memory. Errors: those of the log, [eventlog.ErrDamaged] for a
// record that cannot be folded, and what each returns.
func Fold(ctx context.Context, log eventlog.Log, name eventlog.WorkflowName,
	each func(state projections.State, bytes int64) error) error {
	state, bytes := projections.State{}, int64(0)
	for record, err := range log.ReadWorkflow(ctx, name, 1) {
		if err != nil {
			return err
		}
		if state, err = projections.Apply(state, record); err != nil {
			return foldedFrom(err)
		}
		bytes += int64(record.Size)
		if err := each(state, bytes); err != nil {
			return err
		}
	}
	return nil
}
