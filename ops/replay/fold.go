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

// foldedFrom turns the error of a record that cannot be folded into damage: where every record comes from the log, the
// log lacks one, or holds one that no engine has recorded.
func foldedFrom(err error) error {
	if errors.Is(err, projections.ErrBroken) && !Damaged(err) {
		return fmt.Errorf("%w: %w", eventlog.ErrDamaged, err)
	}
	return err
}

// Fold replays the workflow's log from its beginning, evicting nothing. It calls each with each state, and with the
// number of bytes of the log that it was made of: about its size in memory. Errors: those of the log,
// [eventlog.ErrDamaged] for a record that cannot be folded, and those of each.
func Fold(ctx context.Context, log eventlog.Log, name eventlog.WorkflowName,
	each func(state *projections.State, bytes int64) error) error {
	state, bytes := new(projections.State), int64(0)
	for record, err := range log.ReadWorkflow(ctx, name, 1) {
		if err != nil {
			return err
		}
		if state, err = projections.Apply(state, &record); err != nil {
			return foldedFrom(err)
		}
		bytes += int64(record.Size)
		if err := each(state, bytes); err != nil {
			return err
		}
	}
	return nil
}
