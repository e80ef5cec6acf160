package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// step does the one thing that the workflow's state still owes the world, and records it.
func (w *worker) step(ctx context.Context) error {
	s := w.state()
	switch todo := decide.Next(s, w.now(), w.engine.name).(type) {
	case decide.StartRun: // a retry, a consumer or a producer is due
		if w.damagedBy() != nil {
			w.sleep(ctx, decide.Wait{Reason: decide.ReasonBlocked})
			return nil
		}
		if err := w.engine.hold(); err != nil {
			w.sleepForStorage(ctx)
			return nil
		}
		return w.report(ctx, decide.Tick{}, eventlog.Cause{Kind: "timer"})
	case decide.CrashRun: // found active, started by a process that is gone
		return w.report(ctx, decide.Recover{}, eventlog.Cause{Kind: "restart", ID: w.engine.name})
	case decide.RunProducer: // read-only: poll the outside
		run := s.Run(todo.Run)
		return w.report(ctx, w.produce(ctx, s, run), runCause(run.ID))
	case decide.RunPrepare: // read-only: choose inputs, compute data
		run := s.Run(todo.Run)
		if w.linger(ctx, s, run) {
			return nil
		}
		return w.report(ctx, w.prepare(ctx, s, run), runCause(run.ID))
	case decide.RunMutate: // the script only names the call; the recorded start sends it
		run := s.Run(todo.Run)
		return w.report(ctx, w.mutate(ctx, s, run, run.PrepareResult), runCause(run.ID))
	case decide.RunNext: // publish, save state
		run := s.Run(todo.Run)
		w.worked = len(run.Reserved) > 0
		return w.report(ctx, w.next(ctx, s, run), runCause(run.ID))
	case decide.ReconcileMutation: // uncertain: ask, never send again
		m := s.Mutation(todo.Mutation)
		return w.report(ctx, w.reconcile(ctx, m), eventlog.Cause{Kind: "reconcile", ID: string(m.ID)})
	case decide.AwaitCall: // our own call is open: its settlement nudges
		w.sleep(ctx, decide.Wait{Reason: reasonCall, Subject: string(todo.Mutation)})
		return nil
	case decide.Wait: // Reason is a closed list, rendered by `pawl why`
		w.sleep(ctx, todo)
		return nil
	}
	panic("unreachable: decide.Next is exhaustive")
}

// reasonCall marks a worker at rest only because its own call is open: not idle.
const reasonCall decide.Reason = "call"

func runCause(id eventlog.RunID) eventlog.Cause { return eventlog.Cause{Kind: "run", ID: string(id)} }

// report records the outcome of a todo. What no longer matters is dropped; what does not fit into
// a transition is the script's fault (a limit), never a storage fault.
func (w *worker) report(ctx context.Context, cmd decide.Command, cause eventlog.Cause) error {
	if ctx.Err() != nil {
		return nil // stopping: the run is found active and crashed by the next process
	}
	began := time.Now()
	_, err := w.record(ctx, cmd, eventlog.System, cause)
	if _, settles := cmd.(decide.SettleMutation); err == nil && !settles && time.Since(began) > w.engine.cfg.Policies.Storage.Wait {
		err = w.failSlowRun(ctx, cause)
	}
	switch {
	case errors.Is(err, decide.ErrStale), errors.Is(err, decide.ErrPrepareAgain):
		return nil
	case errors.Is(err, eventlog.ErrTooLarge):
		if smaller, ok := tooLarge(cmd, err); ok {
			_, err = w.record(ctx, smaller, eventlog.System, cause)
			if errors.Is(err, decide.ErrStale) {
				return nil
			}
		}
	}
	return err
}

// failSlowRun ends a run that the log held up for too long: transient, whatever its phase (F11). An
// open mutation is never touched by it.
func (w *worker) failSlowRun(ctx context.Context, cause eventlog.Cause) error {
	run := w.state().CurrentRun()
	if run == nil || run.Status != eventlog.RunActive {
		return nil
	}
	_, err := w.record(ctx, decide.FailRun{Run: run.ID, Failure: eventlog.Failure{
		Class: eventlog.Transient, Code: "storage.slow",
		Message: fmt.Sprintf("the log took longer than %s to confirm a write; check the broker and its disk", w.engine.cfg.Policies.Storage.Wait),
	}}, eventlog.System, cause)
	return err
}

// tooLarge is what to record instead of an outcome that does not fit.
func tooLarge(cmd decide.Command, err error) (decide.Command, bool) {
	limit := func(code string) *eventlog.Failure {
		return &eventlog.Failure{Class: eventlog.Logic, Code: code, Message: err.Error() + "; publish fewer or smaller events per run, and keep large data outside"}
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
			call.Params = oversized(len(call.Params))
			cmd.Call = &call
		}
		return cmd, true
	case decide.CommitRun:
		return decide.CommitRun{Run: cmd.Run, Failure: limit("limit.publish")}, true
	case decide.SettleMutation:
		cmd.Outcome.Result = oversized(len(cmd.Outcome.Result))
		return cmd, true
	}
	return nil, false
}
