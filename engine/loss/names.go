package loss

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// NamesLost reports whether the log holds a workflow of an unknown name at its first deploy.
func NamesLost(log eventlog.Log) bool {
	keeper, ok := log.(eventlog.LossKeeper)
	if !ok {
		return false
	}
	for p := range log.Partitions() {
		if keeper.NamesLost(p) {
			return true
		}
	}
	return false
}

// ConfirmNames ends that: the actor confirms that each workflow that there was is known. The actor is in the log before
// a name is no longer held. It may be repeated. What is held already stays so until a person resumes it. No engine may
// run on the log.
func ConfirmNames(
	ctx context.Context, log eventlog.Log, actor eventlog.Actor, at eventlog.Instant, cause eventlog.Cause,
) error {
	keeper, ok := log.(eventlog.LossKeeper)
	if !ok || !NamesLost(log) {
		return nil
	}
	state, last := new(projections.State), eventlog.Record{}
	for r, err := range log.ReadWorkflow(ctx, eventlog.Installation, 1) {
		if err == nil {
			state, err = projections.Apply(state, &r)
		}
		if err != nil {
			return fmt.Errorf("read what the installation has recorded: %w", err)
		}
		last = r
	}
	env := decide.Env{Now: at, Policies: schedule.Default(), Standstill: decide.EngineStandstill,
		Actor: actor, Cause: cause}
	decision, err := decide.Decide(state, eventlog.Installation, env, decide.ConfirmNames{})
	if err != nil {
		return err
	}
	t := decision.Transition(eventlog.Installation, env)
	if _, err := appendTransition(ctx, log, t, state.Head, last.Head()); err != nil {
		return fmt.Errorf("record that each name is known: %w", err)
	}
	for p := range log.Partitions() {
		if err := keeper.ConfirmNames(ctx, p); err != nil {
			return err
		}
	}
	return nil
}
