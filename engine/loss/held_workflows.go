package loss

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Held is a workflow that an accepted loss holds until a person resumes it.
type Held struct {
	Workflow eventlog.WorkflowName
	// Why it is held.
	Why string
	// GivenUp counts its calls that are in the ledger as given up, Undecided its events of which a person has to say
	// whether they were handled.
	GivenUp, Undecided int
}

// StillHeld lists them from their records in the log. It fails when the log cannot be read.
func StillHeld(ctx context.Context, log eventlog.Log) ([]Held, error) {
	accepted := map[eventlog.WorkflowName]bool{}
	for p := range log.Partitions() {
		for r, err := range log.Read(ctx, p, 1) {
			switch {
			case err == nil && r.Kind == lossAccepted:
				accepted[r.Workflow] = true
			case err != nil && !errors.Is(err, eventlog.ErrUnreadable) && !errors.Is(err, eventlog.ErrDamaged):
				return nil, fmt.Errorf("look for accepted losses: %w", err)
			}
		}
	}
	var all []Held
	for name := range accepted {
		held, err := stillHeld(ctx, log, name)
		if err != nil {
			return nil, fmt.Errorf("look at the accepted loss of %s: %w", name, err)
		}
		if held != nil {
			all = append(all, *held)
		}
	}
	slices.SortFunc(all, func(a, b Held) int { return cmp.Compare(a.Workflow, b.Workflow) })
	return all, nil
}

// stillHeld returns nil for a workflow that is not held, or that cannot be followed and is held for that.
func stillHeld(ctx context.Context, log eventlog.Log, name eventlog.WorkflowName) (*Held, error) {
	state := new(projections.State)
	for r, err := range log.ReadWorkflow(ctx, name, 1) {
		if err == nil {
			state, err = projections.Apply(state, &r)
		}
		switch {
		case errors.Is(err, eventlog.ErrUnreadable), errors.Is(err, eventlog.ErrDamaged),
			errors.Is(err, projections.ErrBroken):
			return nil, nil
		case err != nil:
			return nil, err
		}
	}
	if state.Blocked == nil || state.Blocked.Reason != eventlog.BlockLoss {
		return nil, nil
	}
	held := &Held{Workflow: name, Why: state.Blocked.Message, Undecided: state.Counts.Undecided}
	for _, m := range state.Mutations() {
		if m.Status == eventlog.MutationStatusGivenUp {
			held.GivenUp++
		}
	}
	return held, nil
}
