package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// report records the outcome of a todo. An outcome that no longer matters is dropped; one that does not fit into
// a transition is the script's fault (a limit), never a storage fault.
func (a *aggregate) report(ctx context.Context, cmd decide.Command, cause eventlog.Cause) error {
	if ctx.Err() != nil {
		return nil // stopping: the next process finds the run active and marks it as crashed
	}
	began := time.Now()
	_, err := a.record(ctx, cmd, eventlog.System, cause)
	if _, settles := cmd.(decide.SettleMutation); err == nil && !settles &&
		time.Since(began) > a.engine.Config.Policies.Storage.Wait {
		err = a.failSlowRun(ctx, cmd, cause)
	}
	switch {
	case errors.Is(err, decide.ErrStale), errors.Is(err, decide.ErrPrepareAgain):
		return nil
	case errors.Is(err, eventlog.ErrTooLarge):
		if smaller, ok := tooLarge(cmd, err); ok {
			_, err = a.record(ctx, smaller, eventlog.System, cause)
			if errors.Is(err, decide.ErrStale) {
				return nil
			}
		}
	}
	return err
}

// failSlowRun ends the run whose outcome the log held up for too long: transient, whatever its phase (F11, C8). An
// open mutation is never touched by it.
func (a *aggregate) failSlowRun(ctx context.Context, cmd decide.Command, cause eventlog.Cause) error {
	s := a.state()
	run := s.CurrentRun()
	if concurrent(s) { // another run may be at work beside the one that waited
		run = s.Run(reportsOn(cmd))
	}
	if run == nil || run.Status != eventlog.RunStatusActive {
		return nil
	}
	_, err := a.record(ctx, decide.FailRun{Run: run.ID, Failure: eventlog.Failure{
		Class: eventlog.Transient, Code: eventlog.CodeStorageSlow,
		Message: fmt.Sprintf("the log took longer than %s to confirm a write; check the broker and its disk",
			a.engine.Config.Policies.Storage.Wait),
	}}, eventlog.System, cause)
	return err
}

// reportsOn is the run that the command reports on, empty for none.
func reportsOn(cmd decide.Command) eventlog.RunID {
	switch cmd := cmd.(type) {
	case decide.FinishPrepare:
		return cmd.Run
	case decide.FinishMutate:
		return cmd.Run
	case decide.CommitRun:
		return cmd.Run
	}
	return ""
}

// tooLarge is what to record instead of an outcome that does not fit.
func tooLarge(cmd decide.Command, err error) (decide.Command, bool) {
	limit := func(code string) *eventlog.Failure {
		advice := "return less, and keep large data outside"
		if code == "limit.publish" {
			advice = "reserve fewer events at once, publish fewer or smaller ones, and keep large data outside"
		}
		return &eventlog.Failure{Class: eventlog.Logic, Code: code, Message: err.Error() + "; " + advice}
	}
	switch cmd := cmd.(type) {
	case decide.FinishPrepare:
		code := "limit.result"
		if cmd.Next != nil && len(cmd.Next.Publishes) > 0 {
			code = "limit.publish"
		}
		return decide.FinishPrepare{Run: cmd.Run, Failure: limit(code)}, true
	case decide.FinishMutate:
		cmd.Failure = limit("limit.result")
		if cmd.Call != nil { // in the ledger as never sent, with a marker in place of its parameters (F14)
			call := *cmd.Call
			call.Params = connector.TruncatedResult(int64(len(call.Params)))
			cmd.Call = &call
		}
		return cmd, true
	case decide.CommitRun:
		return decide.CommitRun{Run: cmd.Run, Failure: limit("limit.publish")}, true
	case decide.SettleMutation:
		cmd.Outcome.Result = connector.TruncatedResult(int64(len(cmd.Outcome.Result)))
		return cmd, true
	}
	return nil, false
}
