package rehearsal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/engine/difference"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// expectations are the steps that say what is to be true.
var expectations = map[Do]func(*running, context.Context, *Step) ([]Problem, error){
	DoExpectCall:    (*running).expectCall,
	DoExpectNoCalls: func(r *running, _ context.Context, _ *Step) ([]Problem, error) { return r.unexpected(), nil },
	DoExpectEvents:  (*running).expectEvents,
	DoExpectState:   (*running).expectState,
	DoExpectWaiting: (*running).expectWaiting,
	DoExpectLog: func(r *running, ctx context.Context, step *Step) ([]Problem, error) {
		if r.hasLogged(step.Part) {
			return nil, nil
		}
		return problemf("no handler has logged %q%s", step.Part, r.trouble(ctx)), nil
	},
}

func problemf(format string, args ...any) []Problem {
	return []Problem{{Message: fmt.Sprintf(format, args...)}}
}

// expectCall takes the first change that was not expected yet.
func (r *running) expectCall(ctx context.Context, step *Step) ([]Problem, error) {
	made := r.outside.made()
	if r.expected >= len(made) {
		return problemf("%s was not called; %s", step.Operation, r.waiting(ctx)), nil
	}
	next := made[r.expected]
	r.expected++
	if next.operation != step.Operation {
		return problemf("%s was called and not %s: %s", next.operation, step.Operation, eventlog.Clip(next.params, 300)), nil
	}
	if len(step.Params) == 0 {
		return nil, nil
	}
	found, err := difference.Of(step.Params, next.params)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return []Problem{{Message: step.Operation + " was called with other parameters", Differences: found}}, nil
}

// unexpected are the changes that no step has expected. They are listed once.
func (r *running) unexpected() (problems []Problem) {
	made := r.outside.made()
	for _, c := range made[r.expected:] {
		problems = append(problems, problemf("%s was called, which the case does not expect: %s", c.operation,
			eventlog.Clip(c.params, 300))...)
	}
	r.expected = len(made)
	return problems
}

// shownEvent is an event as a case sees it.
type shownEvent struct {
	MessageID eventlog.MessageID   `json:"messageId"`
	Title     string               `json:"title"`
	Payload   json.RawMessage      `json:"payload"`
	Status    eventlog.EventStatus `json:"status"`
}

// expectEvents compares all events of a topic, in the order in which they were published.
func (r *running) expectEvents(ctx context.Context, step *Step) ([]Problem, error) {
	state, err := r.fold(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(state.Definition().Topics, step.Topic) {
		return problemf("the workflow has no topic %q", step.Topic), nil
	}
	events := []shownEvent{}
	for _, e := range eventsOf(&state, step.Topic) {
		events = append(events, shownEvent{e.MessageID, e.Title, e.Payload, e.Status})
	}
	want, got := step.Events, events
	if want == nil {
		want = []json.RawMessage{}
	}
	expected, err := json.Marshal(want)
	if err != nil {
		return nil, fmt.Errorf("compare the events of %s: %w", step.Topic, err)
	}
	found, err := json.Marshal(got)
	if err != nil {
		return nil, fmt.Errorf("compare the events of %s: %w", step.Topic, err)
	}
	differences, err := difference.Beyond(expected, found)
	if err == nil && len(differences) == 0 {
		r.see(step, got)
	}
	if err != nil || len(differences) == 0 {
		return nil, err
	}
	message := fmt.Sprintf("%s has other events%s", step.Topic, r.trouble(ctx))
	return []Problem{{Message: message, Differences: differences}}, nil
}

// eventsOf lists the events of a topic in the order in which they were published.
func eventsOf(state *projections.State, topic eventlog.Topic) []*projections.TopicEvent {
	var events []*projections.TopicEvent
	for _, e := range state.Events() {
		if e.Topic == topic {
			events = append(events, e)
		}
	}
	slices.SortFunc(events, func(a, b *projections.TopicEvent) int {
		return cmp.Or(cmp.Compare(a.Created.Seq, b.Created.Seq), cmp.Compare(a.Created.N, b.Created.N))
	})
	return events
}

func (r *running) expectState(ctx context.Context, step *Step) ([]Problem, error) {
	state, err := r.fold(ctx)
	if err != nil {
		return nil, err
	}
	_, consumer := state.Definition().Consumer(step.Handler)
	if _, producer := state.Definition().Producer(step.Handler); !consumer && !producer {
		return problemf("the script has no producer or consumer %q", step.Handler), nil
	}
	var kept json.RawMessage
	if h := state.Handler(step.Handler); h != nil {
		kept = h.State
	}
	switch {
	case kept == nil && step.State == nil:
		return nil, nil
	case kept == nil:
		return problemf("%s remembers nothing yet%s", step.Handler, r.trouble(ctx)), nil
	case step.State == nil:
		return problemf("%s remembers %s, and nothing was expected", step.Handler, eventlog.Clip(kept, 300)), nil
	}
	differences, err := difference.Of(step.State, kept)
	if err != nil || len(differences) == 0 {
		return nil, err
	}
	message := string(step.Handler) + " remembers something else" + r.trouble(ctx)
	return []Problem{{Message: message, Differences: differences}}, nil
}

// end is what the end of a case expects: what was pushed has had its turn, each change was expected, each crash and
// failure that it asks for has come, and neither is a person needed nor an event put aside unless the case says so.
func (r *running) end(ctx context.Context) ([]Problem, error) {
	if r.held && !r.stopped && len(r.c.Steps) > 0 {
		if err := r.run(ctx); err != nil {
			return nil, err
		}
	}
	problems := slices.Concat(r.lacking(0), r.unexpected(), r.undead(), r.outside.unused(), r.unexpectedWaits(ctx))
	discarded, err := r.unexpectedDiscards(ctx)
	return append(problems, discarded...), err
}
