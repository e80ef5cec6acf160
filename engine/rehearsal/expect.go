package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/engine/difference"
	"github.com/pawl-run/pawl/eventlog"
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
		return problemf("no handler has logged %q; %s%s", step.Part, r.lastLogged(), r.trouble(ctx)), nil
	},
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

// unexpected are the changes that no step has expected. They are listed once, and equal ones together.
func (r *running) unexpected() (problems []Problem) {
	made := r.outside.made()
	type call struct{ operation, params string }
	var first []call
	times := map[call]int{}
	for _, c := range made[r.expected:] {
		c := call{c.operation, eventlog.Clip(c.params, 300)}
		if times[c]++; times[c] == 1 {
			first = append(first, c)
		}
	}
	for _, c := range first {
		called := "was called"
		if n := times[c]; n > 1 {
			called = fmt.Sprintf("was called %d times", n)
		}
		problems = append(problems, problemf("%s %s, which the case does not expect: %s", c.operation, called, c.params)...)
	}
	r.expected = len(made)
	return problems
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
