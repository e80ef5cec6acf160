package engine

import (
	"context"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// The way of a request, from the first look at the state to the line that sends it:
//
//  1. step asks decide.Next what the state owes the world, and does it. For RunMutate (or RunPrepare, where
//     mutate may read nothing) the script names a call; nothing leaves.
//  2. report hands the outcome, here decide.FinishMutate, to the aggregate's record.
//  3. record (record.go) decides under the recording lock: decide.FinishMutate becomes a MutationStarted, unless the
//     call needs an approval first; then decide.Approve is the command that comes this way. The transition is
//     appended to the log as a barrier.
//  4. finishAppend (append.go) returns only once the fate of that append is known. A lost acknowledgement is settled
//     there: the same entry is sent again.
//  5. acknowledged (append.go) applies the transition that is durable now. One that started a mutation goes through
//     the aggregate's outbox, which is the runner's calls, to send.
//  6. send (call.go) starts exchange in a goroutine of its own, which holds the one call of Connectors.Perform. Right
//     before the first byte, mayLeave looks at the state once more.
//  7. settle (call.go) records what came of it, by report again, for as long as the process lives.
//
// A crash between any two of these loses nothing: before 4 the log has no mutation, after it the next start finds
// one in flight and reconciles it.

// step does the one thing that the workflow's state still owes the world, and records it.
func (r *runner) step(ctx context.Context) error {
	s := r.workflow.state()
	switch todo := decide.Next(s, r.workflow.now(), r.engine.name).(type) {
	case decide.StartRun: // a retry, a consumer or a producer is due
		switch hold := r.workflow.held(); hold {
		case decide.HeldByDamage:
			r.sleep(ctx, hold.Wait())
			return nil
		case decide.HeldByEngine:
			r.sleepForStorage(ctx)
			return nil
		}
		return r.workflow.report(ctx, decide.Tick{}, eventlog.Cause{Kind: "timer"})
	case decide.CrashRun: // found active, started by a process that is gone
		return r.workflow.report(ctx, decide.Recover{}, eventlog.Cause{Kind: "restart", ID: r.engine.name})
	case decide.RunProducer: // read-only: poll the outside
		run := s.Run(todo.Run)
		return r.workflow.report(ctx, r.handlers.Produce(ctx, s, run), runCause(run.ID))
	case decide.RunPrepare: // read-only: choose inputs, compute data
		run := s.Run(todo.Run)
		if r.linger(ctx, s, run) {
			return nil
		}
		return r.workflow.report(ctx, r.handlers.Prepare(ctx, s, run), runCause(run.ID))
	case decide.RunMutate: // the script only names the call; the recorded start sends it
		run := s.Run(todo.Run)
		return r.workflow.report(ctx, r.handlers.Mutate(ctx, s, run, run.PrepareResult), runCause(run.ID))
	case decide.RunNext: // publish, save state
		run := s.Run(todo.Run)
		r.worked = len(run.Reserved) > 0
		return r.workflow.report(ctx, r.handlers.Next(ctx, s, run), runCause(run.ID))
	case decide.ReconcileMutation: // uncertain: ask, never send again
		m := s.Mutation(todo.Mutation)
		return r.workflow.report(ctx, r.calls.reconcile(ctx, m), eventlog.Cause{Kind: "reconcile", ID: string(m.ID)})
	case decide.AwaitCall: // our own call is open: its settlement nudges
		r.sleep(ctx, decide.Wait{Reason: decide.ReasonCall, Subject: string(todo.Mutation)})
		return nil
	case decide.Wait: // Reason is a closed list, rendered by `pawl why`
		r.sleep(ctx, todo)
		return nil
	}
	panic("unreachable: decide.Next is exhaustive")
}

func runCause(id eventlog.RunID) eventlog.Cause { return eventlog.Cause{Kind: "run", ID: string(id)} }
