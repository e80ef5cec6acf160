package engine

import (
	"context"
	"slices"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/runtask"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// The way of a request, from the first look at the state to the line that sends it:
//
//  1. step asks decide.Owed what the state owes the world, and does it. For RunMutate (or RunPrepare, where
//     mutate may read nothing) the script names a call; nothing leaves. Where its target takes only so many calls, the
//     call waits for its turn here (calls.go), while a crash loses nothing.
//  2. report hands the outcome, here decide.FinishMutate, to the aggregate's record.
//  3. record (record.go) decides under the recording lock: decide.FinishMutate becomes a MutationStarted, unless the
//     call needs an approval first; then decide.Approve, or the transition that gives an approved run its place (C3),
//     comes this way. The transition is appended to the log as a barrier, with what else waits to be recorded (C10).
//  4. finishAppend (append.go) returns only once the fate of that append is known. A lost acknowledgement is settled
//     by the log (eventlog/jslog/confirm.go); where that gives up (ErrUnconfirmed), the same entries are sent again.
//  5. acknowledged (append.go) applies the transitions that are durable now. For each that started a mutation it calls
//     send of the runner's calls.
//  6. send (send.go) starts exchange in a goroutine of its own, and that perform, which holds the one call of
//     Connectors.Perform. Right before the first byte, stillOurs looks at the state once more. A call that is sent
//     again to find out what became of it takes the same way from 3 on: decide.ResendMutation becomes a MutationResent.
//  7. settle (settlement.go) records what came of it, by report again, for as long as the process lives.
//
// A crash between any two of these loses nothing: before 4 the log has no mutation, after it the next start finds
// one in flight and reconciles it.

// run steps the workflow until ctx ends.
func (r *runner) run(ctx context.Context) {
	recovered := false
	_ = r.tasks.Collect() // what an earlier tenure has left
	r.engine.AtWork.Add(1)
	defer r.engine.AtWork.Add(-1)
	defer r.tasks.Wait()
	for ctx.Err() == nil && r.workflow.stoppedBy() == nil {
		var err error
		r.seenRings = r.workflow.changed.Rings()
		if r.workflow.behind.Load() {
			err = r.workflow.follow(ctx)
		} else if !recovered {
			found := decide.Recover{Found: r.found}
			_, err = r.workflow.record(ctx, found, eventlog.System, eventlog.Cause{Kind: "restart", ID: r.engine.Name})
			if err == nil && !found.Left(r.workflow.state(), r.engine.Name) {
				recovered = true
				r.assertNoOrphans()
			}
		} else if err = r.tasks.Collect(); err == nil {
			err = r.step(ctx)
		}
		switch {
		case err == nil:
			r.storageRetries.Succeeded()
		case ctx.Err() == nil:
			r.failed(ctx, err)
		}
	}
}

// step does what the workflow's state owes the world. A plain workflow owes one thing at a time. One with a concurrent
// consumer may owe several (C1): scripts and questions then run at the same time, and so does this goroutine, which
// records what begins. After a deploy has dropped the last concurrent consumer, tasks of its runs may still be at work.
// Until they are collected, a task for a plain run begins in a goroutine of its own too, and a run that has a task gets
// no second one. The end of a task nudges the runner.
func (r *runner) step(ctx context.Context) error {
	s := r.workflow.state()
	todos := decide.Owed(s, decide.Present{
		Now: r.workflow.now(), Engine: r.engine.Name, MaxHeld: r.engine.Config.Policies.Held.Max,
	})
	var waits []decide.Wait
	busy := r.engine.Config.InTurn && (r.tasks.Working() || slices.ContainsFunc(todos, awaitsCall))
	for _, todo := range todos {
		switch todo := todo.(type) {
		case decide.Wait: // Reason is a closed list, rendered by `pawl why`
			waits = append(waits, todo)
		case decide.AwaitCall: // our own call is open: its settlement nudges
			waits = append(waits, decide.Wait{Reason: decide.ReasonCall, Subject: string(todo.Mutation)})
		case decide.StartRun, decide.BeginEvent:
			if still := r.workflow.standstill(); still != decide.NoStandstill {
				waits = append(waits, still.Wait())
				continue
			}
			var tick decide.Tick
			if begin, ok := todo.(decide.BeginEvent); ok {
				tick.Place = &begin.Place
			}
			return r.workflow.report(ctx, tick, eventlog.Cause{Kind: "timer"})
		case decide.CrashRun: // found active, started by a process that is gone
			return r.workflow.report(ctx, decide.Recover{}, eventlog.Cause{Kind: "restart", ID: r.engine.Name})
		default:
			if still := r.workflow.standstill(); still != decide.NoStandstill && sendsAgain(s, todo) {
				waits = append(waits, still.Wait())
				continue
			}
			if busy { // the end of what has its turn nudges
				continue
			}
			run, do := r.task(s, todo)
			if len(todos) == 1 && !concurrent(s) && !r.tasks.Working() {
				if r.linger(ctx, s, todo) {
					return nil
				}
				return r.tasks.Do(ctx, run, do)
			}
			r.tasks.Begin(ctx, run, do, r.workflow.nudge)
			busy = r.engine.Config.InTurn
		}
	}
	r.sleep(ctx, waits)
	return nil
}

// concurrent reports whether the workflow has a concurrent consumer.
func concurrent(s *projections.State) bool {
	return slices.ContainsFunc(s.Definition().Consumers, eventlog.Consumer.Concurrent)
}

func awaitsCall(todo decide.Todo) bool {
	_, open := todo.(decide.AwaitCall)
	return open
}

// sendsAgain reports whether the todo is to send a call again, to find out what became of it.
func sendsAgain(s *projections.State, todo decide.Todo) bool {
	found, ok := todo.(decide.ReconcileMutation)
	return ok && s.Mutation(found.Mutation).Call.Resends()
}

// task is what a todo comes to that takes time, and the run that it is for.
func (r *runner) task(s *projections.State, todo decide.Todo) (eventlog.RunID, runtask.Task) {
	if todo, ok := todo.(decide.ReconcileMutation); ok { // uncertain: ask, or have it recorded that the same is sent again
		m := s.Mutation(todo.Mutation)
		return m.Run, func(ctx, _ context.Context) error { // the run has ended already
			found, end := r.calls.reconcile(ctx, m)
			defer end()
			return r.workflow.report(ctx, found, eventlog.Cause{Kind: "reconcile", ID: string(m.ID)})
		}
	}
	run, work := r.script(s, todo)
	return run, func(ctx, script context.Context) error {
		if isOver(r.workflow.state(), run) {
			return nil // a command has ended it since the look at s, and may have found no task yet to stop
		}
		return work(ctx, script)
	}
}

// script is a todo for which a script works, and the run that it is for.
func (r *runner) script(s *projections.State, todo decide.Todo) (eventlog.RunID, runtask.Task) {
	switch todo := todo.(type) {
	case decide.RunProducer: // read-only: poll the outside
		run := s.Run(todo.Run)
		return run.ID, func(ctx, script context.Context) error {
			return r.workflow.report(ctx, r.handlers.Produce(script, s, run), runCause(run.ID))
		}
	case decide.RunPrepare: // read-only: choose inputs, compute data
		run := s.Run(todo.Run)
		return run.ID, func(ctx, script context.Context) error {
			prepared := r.handlers.Prepare(script, s, run)
			if done, ok := prepared.(decide.FinishPrepare); ok && done.Mutate != nil {
				defer r.calls.awaitTurn(script, done.Mutate)()
			}
			return r.workflow.report(ctx, prepared, runCause(run.ID))
		}
	case decide.RunMutate: // the script only names the call; the recorded start sends it
		run := s.Run(todo.Run)
		return run.ID, func(ctx, script context.Context) error {
			named := r.handlers.Mutate(script, s, run, run.PrepareResult)
			defer r.calls.awaitTurn(script, &named)()
			return r.workflow.report(ctx, named, runCause(run.ID))
		}
	case decide.RunNext: // publish, save state
		run := s.Run(todo.Run)
		return run.ID, func(ctx, script context.Context) error {
			return r.workflow.report(ctx, r.handlers.Next(script, s, run), runCause(run.ID))
		}
	}
	panic("unreachable: decide.Owed is exhaustive")
}

func runCause(id eventlog.RunID) eventlog.Cause { return eventlog.Cause{Kind: "run", ID: string(id)} }
