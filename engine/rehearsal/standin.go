package rehearsal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// standIn stands for one connector of the outside. It offers the operations of the real connector, and refuses the
// calls that the real one refuses.
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

// CallHost implements connector.HostNamer.
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
