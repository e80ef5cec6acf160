package rehearsal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/difference"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// outside stands for all that a workflow can call in one case: what it answers is what the case says.
//
// Locking: mu guards all that is below it.
type outside struct {
	mu      sync.Mutex
	answers []*givenAnswer // the newest is asked first
	calls   []sentCall     // the changes that were made, in order
	fates   map[string]fate
	broken  []string // what the case lacks or says wrong
}

// fate is what can be found out of a change, by its key.
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

// unused are failures and answers for certain parameters that no call was given.
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

// find is the answer to a call, nil for none; with take it is given.
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

// standIn is one connector of the outside. It offers what the real one does, and refuses what that refuses.
type standIn struct {
	name       string
	operations []connector.Operation
	outside    *outside
	// real has the connector that it stands for; nil where a case says alone what there is.
	real *connector.Registry
}

// Name implements connector.Connector.
func (s *standIn) Name() string { return s.name }

// Operations implements connector.Connector.
func (s *standIn) Operations() []connector.Operation { return s.operations }

// Read implements connector.Connector.
func (s *standIn) Read(_ context.Context, c connector.Call) (json.RawMessage, error) {
	if failure := s.check(c); failure != nil {
		return nil, failure
	}
	name := c.Connector + "." + c.Operation
	a := s.outside.find(name, c.Params, true)
	switch {
	case a == nil:
		params := eventlog.Clip(c.Params, 200)
		s.outside.lack("%s(%s) has no answer: a step \"answer\" with its result gives one", name, params)
		return nil, connector.Failf(eventlog.Logic, codeNoAnswer, "the test has no answer to %s(%s)", name, params)
	case a.Fails != nil:
		return nil, a.Fails.failure(name)
	}
	out := s.outcome(c, a)
	if out.Failure != nil {
		return nil, out.Failure
	}
	return out.Result, nil
}

// codeNoAnswer is the code of a read that the case says nothing of.
const codeNoAnswer = "test.noAnswer"

// check is why the real connector refuses the call, nil for nothing.
func (s *standIn) check(c connector.Call) *eventlog.Failure {
	if s.real == nil {
		return nil
	}
	return s.real.Check(c)
}

// outcome is what the real connector makes of the answer.
func (s *standIn) outcome(c connector.Call, a *givenAnswer) connector.Outcome {
	if s.real == nil || len(a.Result) == 0 {
		return connector.Outcome{Status: connector.Applied, Result: a.result()}
	}
	return s.real.Answer(c, a.Result)
}

// Perform implements connector.Connector.
func (s *standIn) Perform(ctx context.Context, c connector.Call) connector.Outcome {
	if failure := s.check(c); failure != nil {
		return connector.FailedWith(failure)
	}
	if failure := connector.MayLeave(ctx, c); failure != nil {
		return connector.FailedWith(failure)
	}
	name := c.Connector + "." + c.Operation
	a := s.outside.find(name, c.Params, true)
	if a == nil {
		a = &givenAnswer{}
	}
	s.outside.mu.Lock()
	defer s.outside.mu.Unlock()
	s.outside.calls = append(s.outside.calls, sentCall{name, c.Params})
	switch {
	case a.Fails != nil:
		s.outside.fates[c.Key] = fate{lost: LostDidNotHappen}
		return connector.FailedWith(a.Fails.failure(name))
	case a.Lost != "":
		s.outside.fates[c.Key] = fate{lost: a.Lost, result: a.result()}
		text := "the test says that the answer to " + name + " is lost"
		if !s.asks(c) {
			text += ", and by the configuration nothing can be asked what became of it"
		}
		return connector.UncertainWith(connector.Failf(eventlog.Transient, "test.lost", "%s", text))
	}
	out := s.outcome(c, a)
	s.outside.fates[c.Key] = fate{lost: map[connector.Status]Lost{connector.Applied: LostHappened,
		connector.Failed: LostDidNotHappen, connector.Uncertain: LostUnknown}[out.Status], result: out.Result}
	return out
}

// asks reports whether the real connector can find out what became of the call.
func (s *standIn) asks(c connector.Call) bool { return s.real == nil || s.real.Reconciles(c) }

// ReconcilesCall implements connector.CallReconciler: where the real one can be asked, the answer that the call will be
// given says whether it knows.
func (s *standIn) ReconcilesCall(c connector.Call) bool {
	a := s.outside.find(c.Connector+"."+c.Operation, c.Params, false)
	switch {
	case !s.asks(c):
		return false
	case a == nil || a.Fails != nil:
		return true
	case a.Lost != "":
		return a.Lost != LostUnknown
	}
	return s.outcome(c, a).Status != connector.Uncertain
}

// CallHost implements connector.CallHoster.
func (s *standIn) CallHost(c connector.Call) string {
	if s.real == nil {
		return ""
	}
	return s.real.Host(c)
}

// Reconcile implements connector.Connector.
func (s *standIn) Reconcile(_ context.Context, c connector.Call) connector.Reconciliation {
	s.outside.mu.Lock()
	defer s.outside.mu.Unlock()
	switch k := s.outside.fates[c.Key]; k.lost {
	case LostHappened:
		return connector.Reconciliation{Verdict: connector.VerdictApplied, Result: k.result}
	case LostUnknown:
		return connector.Reconciliation{Verdict: connector.VerdictRetry}
	}
	return connector.Reconciliation{Verdict: connector.VerdictFailed}
}

func (a *givenAnswer) result() json.RawMessage {
	if len(a.Result) == 0 {
		return json.RawMessage("null")
	}
	return a.Result
}

func (r *Refusal) failure(operation string) *eventlog.Failure {
	return connector.Failf(r.Class, cmp.Or(r.Code, "test.fails"), "%s",
		cmp.Or(r.Message, "the test says that "+operation+" fails"))
}

// registry offers what the real connectors offer, and the tools of the suite, on the outside.
func (o *outside) registry(real *connector.Registry, tools map[string]sandbox.OperationKind) (*connector.Registry,
	error) {
	all, err := connector.NewRegistry()
	if err != nil {
		return nil, err
	}
	for _, name := range real.Names() {
		if c, ok := real.Connector(name); ok {
			if err := all.Add(&standIn{name: name, operations: c.Operations(), outside: o, real: real}); err != nil {
				return nil, err
			}
		}
	}
	byName := map[string][]connector.Operation{}
	for name, kind := range tools {
		service, operation, _ := strings.Cut(name, ".")
		byName[service] = append(byName[service], connector.Operation{Name: operation, Kind: connector.Kind(kind),
			Reconciles: kind == sandbox.KindMutate})
	}
	for name, operations := range byName {
		slices.SortFunc(operations, func(a, b connector.Operation) int { return cmp.Compare(a.Name, b.Name) })
		if err := all.Replace(&standIn{name: name, operations: operations, outside: o}); err != nil {
			return nil, fmt.Errorf("read the tools of the tests: %w", err)
		}
	}
	return all, nil
}
