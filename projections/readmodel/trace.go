package readmodel

import (
	"context"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// Trace is what became of an input, through all topics (Causes).
type Trace struct {
	Input Input `json:"input"`
	// Events are those that it caused, in the order in which they were published.
	Events []TracedEvent `json:"events"`
	// Mutations are the calls that were made for them, and those that are asked for.
	Mutations []Mutation `json:"mutations"`
	// Complete is false where the search ended before all events of the input were found.
	Complete bool `json:"complete"`
}

// TracedEvent is an event with its job.
type TracedEvent struct {
	Event Event `json:"event"`
	Job   Job   `json:"job"`
}

const (
	// maxTraced bounds the events of a trace, maxTraceScan the rows that are looked at for them: what an input causes
	// follows it closely, unless it waits for long.
	maxTraced    = 200
	maxTraceScan = 100_000
)

// Trace follows an input to the events that it caused and the calls that were made for them, or returns *NotFoundError.
func (r *Reader) Trace(ctx context.Context, w eventlog.WorkflowName, id eventlog.InputID) (Trace, error) {
	return answer(ctx, r, func(v *view) (Trace, error) {
		t := Trace{Events: []TracedEvent{}, Mutations: []Mutation{}}
		in, err := one[projections.Input](v, w, projections.InputKey(id), "input", string(id))
		if err != nil {
			return t, err
		}
		t.Input = InputView(in)
		if err := t.follow(ctx, v, w, in); err != nil {
			return t, err
		}
		for _, m := range t.Input.Outputs {
			if err := t.call(v, w, m); err != nil {
				return t, err
			}
		}
		// A call that is open is an output of nothing yet: the run that holds the event has it.
		for _, e := range t.Events {
			for _, a := range e.Job.Attempts {
				run, err := optionally[projections.Run](v, w, projections.RunKey(a.Run))
				if err != nil {
					return t, err
				}
				if run == nil || run.Mutation == "" {
					continue
				}
				if err := t.call(v, w, run.Mutation); err != nil {
					return t, err
				}
			}
		}
		slices.SortStableFunc(t.Mutations, func(a, b Mutation) int { return int(a.RequestedAt.Sub(b.RequestedAt)) })
		return t, nil
	})
}

// follow adds the events that the input caused.
func (t *Trace) follow(ctx context.Context, v *view, w eventlog.WorkflowName, in *projections.Input) error {
	d, err := v.definition(w)
	if err != nil {
		return err
	}
	wanted, scanned := in.Open+in.Consumed+in.Skipped+in.Discarded, 0
	// What is listed of one workflow counts as partition 0; an input is created before its events.
	after := store.Position{0: in.Created}
	for item, err := range v.List(store.Range{Kind: projections.KindEvent, Workflow: w}, after) {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(t.Events) == min(wanted, maxTraced) || scanned == maxTraceScan {
			break
		}
		scanned++
		e := item.Entity.(*projections.TopicEvent)
		if !slices.Contains(e.CausedBy, in.ID) {
			continue
		}
		held, err := v.held(w, e)
		if err != nil {
			return err
		}
		t.Events = append(t.Events, TracedEvent{EventView(e, held), JobView(e, d, held)})
	}
	t.Complete = len(t.Events) >= wanted
	return nil
}

// call adds a mutation once.
func (t *Trace) call(v *view, w eventlog.WorkflowName, id eventlog.MutationID) error {
	if slices.ContainsFunc(t.Mutations, func(m Mutation) bool { return m.ID == id }) {
		return nil
	}
	m, err := optionally[projections.Mutation](v, w, projections.MutationKey(id))
	if err != nil || m == nil {
		return err
	}
	shown, err := v.mutationView(w, m)
	t.Mutations = append(t.Mutations, shown)
	return err
}
