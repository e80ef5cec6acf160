package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/difference"
	"github.com/pawl-run/pawl/eventlog"
)

// outside stands for everything that a workflow can call in one case. It answers as the case says.
//
// Locking: mu guards all that is below it.
type outside struct {
	mu      sync.Mutex
	answers []*givenAnswer // the newest is asked first
	calls   []sentCall     // the changes that were made, in order
	fates   map[string]fate
	broken  []string // what the case lacks or says wrong
}

// fate is what the other side can say about a change, by its key.
type fate struct {
	lost   Lost
	result json.RawMessage
}

// givenAnswer is a step that says one, and how often it was given.
type givenAnswer struct {
	operation string
	Answer
	given int
	line  int
	// counts says that a case in which it is given to no call proves nothing.
	counts bool
}

// sentCall is one change that has left.
type sentCall struct {
	operation string
	params    json.RawMessage
}

func newOutside() *outside { return &outside{fates: map[string]fate{}} }

// say gives an answer from here on. It fails where the result is none that the operation gives.
func (o *outside) say(ctx context.Context, operation connector.Operation, step *Step) error {
	a, name := step.Answer, step.Operation
	if len(a.Result) > 0 && len(operation.Result) > 0 {
		if err := fits(ctx, operation.Result, a.Result); err != nil {
			return fmt.Errorf("this is not what %s answers: %w", name, err)
		}
	}
	if a.Lost != "" && operation.Kind != connector.Mutate {
		return fmt.Errorf("%s reads: where its answer is lost, it fails with { fails: \"transient\" }", name)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	counts := a.Fails != nil || a.Lost != "" || operation.Kind == connector.Mutate && len(a.With) > 0
	o.answers = slices.Insert(o.answers, 0, &givenAnswer{operation: name, Answer: a, line: step.Line,
		counts: counts && !step.FromRecording})
	return nil
}

// unused are the failures, and the answers for certain parameters, that no call was given.
func (o *outside) unused() (problems []Problem) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range slices.Backward(o.answers) {
		if !a.counts || a.given > 0 {
			continue
		}
		text := "no call of " + a.operation + " was given this answer"
		if len(a.With) > 0 {
			text += ": none has " + eventlog.Clip(a.With, 200)
		}
		problems = append(problems, Problem{Line: a.line, Message: text})
	}
	return problems
}

// find is the answer to a call, nil for none. With take it counts as given.
func (o *outside) find(name string, params json.RawMessage, take bool) *givenAnswer {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range o.answers {
		if a.operation != name || a.Times > 0 && a.given >= a.Times {
			continue
		}
		if len(a.With) > 0 {
			if found, err := difference.Beyond(a.With, params); err != nil || len(found) > 0 {
				continue
			}
		}
		if take {
			a.given++
		}
		return a
	}
	return nil
}

// lack notes what the case would have to say.
func (o *outside) lack(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if text := fmt.Sprintf(format, args...); !slices.Contains(o.broken, text) {
		o.broken = append(o.broken, text)
	}
}

// lacks returns what was noted since it was asked last.
func (o *outside) lacks() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	broken := o.broken
	o.broken = nil
	return broken
}

// made returns the changes that have left so far.
func (o *outside) made() []sentCall {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.calls)
}
