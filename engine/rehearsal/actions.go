package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// actions are the steps that do something.
var actions = map[Do]func(*running, context.Context, *Step) error{
	DoAnswer: (*running).answer,
	DoPush:   (*running).push,
	DoHook:   (*running).hook,
	DoPoll: func(r *running, ctx context.Context, _ *Step) error {
		if err := r.operate(ctx, decide.RunNow{}); err != nil {
			return err
		}
		return r.run(ctx)
	},
	DoRun: func(r *running, ctx context.Context, step *Step) error {
		if step.Handler != "" {
			err := r.runOnce(ctx, step.Handler)
			r.stopped = err == nil
			return err
		}
		return r.run(ctx)
	},
	DoAdvance: func(r *running, ctx context.Context, step *Step) error {
		by, err := time.ParseDuration(step.By)
		if err != nil || by < 0 {
			return fmt.Errorf("advance takes a duration such as \"90s\" or \"24h\", and got %q", step.By)
		}
		return r.advance(ctx, by)
	},
	DoCrash: func(r *running, _ context.Context, step *Step) error {
		if eventlog.NewFact(step.Fact) == nil {
			return fmt.Errorf("crash takes a fact of the log, such as \"mutation.started\" or \"run.committed\", and got %q",
				step.Fact)
		}
		r.life.dieAt(step.Fact)
		return nil
	},
	DoApprove: func(r *running, ctx context.Context, _ *Step) error {
		return r.ofMutations(ctx, "awaits an approval", eventlog.MutationStatusAwaitingApproval,
			func(id eventlog.MutationID) decide.Command { return decide.Approve{Mutation: id} })
	},
	DoReject: func(r *running, ctx context.Context, _ *Step) error {
		return r.ofMutations(ctx, "awaits an approval", eventlog.MutationStatusAwaitingApproval,
			func(id eventlog.MutationID) decide.Command { return decide.Reject{Mutation: id} })
	},
	DoResolve: func(r *running, ctx context.Context, step *Step) error {
		resolution := map[string]decide.Resolution{
			"happened": decide.DidHappen, "did-not-happen": decide.DidNotHappen, "skip": decide.Skip,
			"try-again": decide.TryAgain,
		}[step.Resolution]
		return r.ofMutations(ctx, "has an unknown outcome", eventlog.MutationStatusIndeterminate,
			func(id eventlog.MutationID) decide.Command {
				return decide.Resolve{Mutation: id, Resolution: resolution, Result: step.Result}
			})
	},
	DoResume: func(r *running, ctx context.Context, _ *Step) error {
		if err := r.release(ctx); err != nil {
			return err
		}
		if err := r.operate(ctx, decide.Resume{}); err != nil {
			return err
		}
		return r.run(ctx)
	},
	DoSkip: func(r *running, ctx context.Context, step *Step) error {
		return r.ofEvents(ctx, decide.ActionSkip, step)
	},
	DoRedrive: func(r *running, ctx context.Context, step *Step) error {
		return r.ofEvents(ctx, decide.ActionRedrive, step)
	},
}

func (r *running) answer(ctx context.Context, step *Step) error {
	service, name, _ := strings.Cut(step.Operation, ".")
	operation, ok := r.config.Connectors.Operation(service, name)
	if !ok {
		return fmt.Errorf("there is no operation %s; a tool is named in { tools: { %q: \"mutate\" } } behind the cases",
			step.Operation, step.Operation)
	}
	return r.outside.say(ctx, operation, step)
}

func (r *running) push(ctx context.Context, step *Step) error {
	push := decide.Push{Topic: step.Topic}
	for _, raw := range step.Events {
		var event sandbox.Event
		if err := json.Unmarshal(raw, &event); err != nil {
			return fmt.Errorf("read an event: %w", err)
		}
		push.Items = append(push.Items, decide.PushItem{MessageID: eventlog.MessageID(event.MessageID), Title: event.Title,
			Payload: event.Payload})
	}
	if err := r.hold(ctx); err != nil {
		return err
	}
	return r.operate(ctx, push)
}

// ofMutations does what a person does with all mutations of a status, and lets the workflow run.
func (r *running) ofMutations(ctx context.Context, what string, status eventlog.MutationStatus,
	command func(eventlog.MutationID) decide.Command) error {
	if r.held {
		if err := r.run(ctx); err != nil {
			return err
		}
	}
	state, err := r.fold(ctx)
	if err != nil {
		return err
	}
	var found []eventlog.MutationID
	for id, m := range state.Mutations() {
		if m.Status == status {
			found = append(found, id)
		}
	}
	if len(found) == 0 {
		return fmt.Errorf("no call %s here: %s", what, r.waiting(ctx))
	}
	for _, id := range found {
		if err := r.operate(ctx, command(id)); err != nil {
			return err
		}
		if err := r.advance(ctx, 0); err != nil { // one after the other, as all calls of a case
			return err
		}
	}
	return r.run(ctx)
}

// ofEvents does what a person does with events: with those of the ids, and without ids with all events of the topic for
// which it is possible; to skip all means no discarded ones, which the case has to expect by name.
func (r *running) ofEvents(ctx context.Context, action decide.EventAction, step *Step) error {
	state, err := r.fold(ctx)
	if err != nil {
		return err
	}
	ids := step.IDs
	if len(ids) == 0 {
		for _, e := range eventsOf(state, step.Topic) {
			held := eventlog.HeldReason("")
			if e.Held != nil {
				held = e.Held.Reason
			}
			if action.Meant(false, e.Job(), held) {
				ids = append(ids, e.MessageID)
			}
		}
		if len(ids) == 0 {
			return fmt.Errorf("nothing was changed: %s of all events of topic %s means none of them; name ids", action,
				step.Topic)
		}
	}
	change := decide.ChangeEvents{Action: action}
	for _, id := range ids {
		change.Items = append(change.Items, eventlog.EventRef{Topic: step.Topic, MessageID: id})
	}
	done, err := r.engine.ChangeEvents(ctx, tester, r.workflow, change)
	switch {
	case err != nil:
		return err
	case done.Updated == 0 && len(done.Noop) > 0:
		first := done.Noop[0]
		return fmt.Errorf("nothing was changed: %s of %s: %s", first.MessageID, first.Topic, first.Reason)
	}
	return r.run(ctx)
}
