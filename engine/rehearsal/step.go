package rehearsal

import (
	"context"
	"fmt"
	"slices"
)

// step does a step. Problems are expectations that do not hold, the case goes on behind them; an error is a step that
// cannot be done.
func (r *running) step(ctx context.Context, step *Step) ([]Problem, error) {
	if expectation, ok := expectations[step.Do]; ok {
		if r.held && !r.stopped { // what was pushed has its turn
			if err := r.run(ctx); err != nil {
				return nil, err
			}
		}
		problems := r.lacking(step.Line)
		found, err := expectation(r, ctx, step)
		for i := range found {
			found[i].Line = step.Line
		}
		return append(problems, found...), err
	}
	if step.Do != DoAnswer && step.Do != DoCrash {
		r.awaited, r.stopped = nil, false
	}
	action, ok := actions[step.Do]
	if !ok {
		return nil, fmt.Errorf("there is no step %q", step.Do)
	}
	var problems []Problem
	if step.Do == DoCrash {
		problems = r.missingCrash()
		r.crashed = step.Line
	}
	err := action(r, ctx, step)
	return append(problems, r.lacking(step.Line)...), err
}

// end is what the end of a case expects: what was pushed has had its turn, each change was expected, each crash and
// failure that it asks for has come, and neither is a person needed nor an event put aside unless the case says so.
func (r *running) end(ctx context.Context) ([]Problem, error) {
	if r.held && !r.stopped && len(r.c.Steps) > 0 {
		if err := r.run(ctx); err != nil {
			return nil, err
		}
	}
	problems := slices.Concat(r.lacking(0), r.unexpected(), r.missingCrash(), r.outside.unused(), r.unexpectedWaits(ctx))
	discarded, err := r.unexpectedDiscards(ctx)
	return append(problems, discarded...), err
}
