package connector_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// fake is a connector whose answers a test gives.
type fake struct {
	name       string
	operations []connector.Operation
	read       func(context.Context, connector.Call) (json.RawMessage, error)
	perform    func(context.Context, connector.Call) connector.Outcome
	reconcile  func(context.Context, connector.Call) connector.Reconciliation
}

func (f *fake) Name() string                      { return f.name }
func (f *fake) Operations() []connector.Operation { return f.operations }
func (f *fake) Read(ctx context.Context, c connector.Call) (json.RawMessage, error) {
	return f.read(ctx, c)
}
func (f *fake) Perform(ctx context.Context, c connector.Call) connector.Outcome {
	return f.perform(ctx, c)
}
func (f *fake) Reconcile(ctx context.Context, c connector.Call) connector.Reconciliation {
	return f.reconcile(ctx, c)
}

// shopTimeout is longer than any machine stands still; a test that waits for it does so in virtual time.
const shopTimeout = time.Minute

// shop is a fake with a read `find` and a mutation `buy` of {n: integer}.
func shop() *fake {
	schema := json.RawMessage(`{"type":"object","additionalProperties":false,"required":["n"],` +
		`"properties":{"n":{"type":"integer"}}}`)
	return &fake{name: "shop", operations: []connector.Operation{
		{Name: "find", Kind: connector.List, Schema: schema, Timeout: shopTimeout},
		{Name: "buy", Kind: connector.Mutate, Schema: schema, Timeout: shopTimeout, Reconciles: true},
		{Name: "ping", Kind: connector.Get},
	}}
}

func registry(t *testing.T, connectors ...connector.Connector) *connector.Registry {
	t.Helper()
	r, err := connector.NewRegistry(connectors...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func call(operation, params string) connector.Call {
	return connector.Call{Connector: "shop", Operation: operation, Params: json.RawMessage(params), Key: "k1"}
}

func wantFailure(t *testing.T, f *eventlog.Failure, class eventlog.Class, code string) {
	t.Helper()
	if f == nil || f.Class != class || f.Code != code {
		t.Fatalf("failure = %+v, want class %s, code %s", f, class, code)
	}
}

func readFailure(t *testing.T, err error) *eventlog.Failure {
	t.Helper()
	var f *eventlog.Failure
	if !errors.As(err, &f) {
		t.Fatalf("error %v is not a failure", err)
	}
	return f
}

func TestF4_WhatIsWrongBeforeTheCallIsDefinite(t *testing.T) {
	s := shop()
	s.perform = func(context.Context, connector.Call) connector.Outcome {
		t.Error("the connector was asked")
		return connector.Outcome{Status: connector.Applied}
	}
	r := registry(t, s)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late := call("buy", `{"n":1}`)
	late.Deadline = time.Now().Add(-time.Millisecond)
	keyless := call("buy", `{"n":1}`)
	keyless.Key = ""
	for name, c := range map[string]struct {
		ctx   context.Context
		call  connector.Call
		class eventlog.Class
		code  string
	}{
		"schema":      {t.Context(), call("buy", `{"n":"x"}`), eventlog.Logic, "call.params"},
		"missing":     {t.Context(), call("buy", ``), eventlog.Logic, "call.params"},
		"not json":    {t.Context(), call("buy", `{"n":`), eventlog.Logic, "call.params"},
		"unknown":     {t.Context(), call("bye", `{"n":1}`), eventlog.Transient, "connector.unknown"},
		"a read":      {t.Context(), call("find", `{"n":1}`), eventlog.Internal, "connector.kind"},
		"no key":      {t.Context(), keyless, eventlog.Internal, "call.key"},
		"deadline":    {t.Context(), late, eventlog.Transient, "call.deadline"},
		"given up":    {ended, call("buy", `{"n":1}`), eventlog.Transient, "call.cancelled"},
		"extra field": {t.Context(), call("buy", `{"n":1,"m":2}`), eventlog.Logic, "call.params"},
	} {
		t.Run(name, func(t *testing.T) {
			out := r.Perform(c.ctx, c.call)
			if out.Status != connector.Failed {
				t.Fatalf("status = %v, want Failed", out.Status)
			}
			wantFailure(t, out.Failure, c.class, c.code)
		})
	}
}

func TestSchemaProblemNamesTheField(t *testing.T) {
	out := registry(t, shop()).Perform(t.Context(), call("buy", `{"n":"x"}`))
	if want := "n: got string, want integer"; !strings.Contains(out.Failure.Message, want) {
		t.Errorf("message %q does not contain %q", out.Failure.Message, want)
	}
}

func TestF3_F4_UnusableOutcomesAreUncertain(t *testing.T) {
	for name, perform := range map[string]func(context.Context, connector.Call) connector.Outcome{
		"panic": func(context.Context, connector.Call) connector.Outcome { panic("boom") },
		"goexit": func(context.Context, connector.Call) connector.Outcome {
			runtime.Goexit()
			panic("unreachable")
		},
		"zero": func(context.Context, connector.Call) connector.Outcome { return connector.Outcome{} },
		"unknown status": func(context.Context, connector.Call) connector.Outcome {
			return connector.Outcome{Status: 7}
		},
		"broken result": func(context.Context, connector.Call) connector.Outcome {
			return connector.Outcome{Status: connector.Applied, Result: json.RawMessage(`{"a":`)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := shop()
			s.perform = perform
			out := registry(t, s).Perform(t.Context(), call("buy", `{"n":1}`))
			if out.Status != connector.Uncertain || out.Failure == nil || out.Failure.Class != eventlog.Internal {
				t.Errorf("outcome = %+v, %v, want Uncertain, internal", out, out.Failure)
			}
		})
	}
}

func TestResultOfAnAppliedMutationIsNeverLost(t *testing.T) {
	s := shop()
	var result string
	s.perform = func(context.Context, connector.Call) connector.Outcome {
		return connector.Outcome{Status: connector.Applied, Result: json.RawMessage(result)}
	}
	r := registry(t, s)
	for _, c := range []struct{ result, want string }{
		{`"` + strings.Repeat("x", connector.MaxResult) + `"`, `{"truncated":true,"bytes":1048578}`},
		{``, `null`},
		{" {\"a\":1}\n", `{"a":1}`},
		{"\"\xff\"", `"` + "\uFFFD" + `"`},
	} {
		result = c.result
		out := r.Perform(t.Context(), call("buy", `{"n":1}`))
		if out.Status != connector.Applied || string(out.Result) != c.want {
			t.Errorf("outcome = %v %.80s %v, want Applied %s", out.Status, out.Result, out.Failure, c.want)
		}
	}
}

func TestFailureIsMadeStorable(t *testing.T) {
	s := shop()
	s.perform = func(context.Context, connector.Call) connector.Outcome {
		return connector.FailedWith(&eventlog.Failure{Class: "odd", Message: strings.Repeat("ä", 5000)})
	}
	out := registry(t, s).Perform(t.Context(), call("buy", `{"n":1}`))
	if out.Status != connector.Failed {
		t.Fatalf("status = %v, want Failed", out.Status)
	}
	wantFailure(t, out.Failure, eventlog.Internal, "connector.answer")
	if len(out.Failure.Message) > 4096 {
		t.Errorf("message has %d bytes", len(out.Failure.Message))
	}
}

func TestF3_ReadFailures(t *testing.T) {
	for name, c := range map[string]struct {
		read  func(context.Context, connector.Call) (json.RawMessage, error)
		class eventlog.Class
		code  string
	}{
		"unclassified": {func(context.Context, connector.Call) (json.RawMessage, error) { return nil, errors.New("x") },
			eventlog.Internal, "connector.answer"},
		"classified": {func(context.Context, connector.Call) (json.RawMessage, error) {
			return nil, connector.Failf(eventlog.Auth, "shop.login", "no")
		}, eventlog.Auth, "shop.login"},
		"panic": {func(context.Context, connector.Call) (json.RawMessage, error) {
			panic("boom")
		}, eventlog.Internal, "connector.panic"},
		"not json": {func(context.Context, connector.Call) (json.RawMessage, error) {
			return json.RawMessage("nope"), nil
		}, eventlog.Internal, "connector.answer"},
		"too big": {func(context.Context, connector.Call) (json.RawMessage, error) {
			return json.RawMessage(`"` + strings.Repeat("x", connector.MaxResult) + `"`), nil
		}, eventlog.Logic, "limit.read"},
	} {
		t.Run(name, func(t *testing.T) {
			s := shop()
			s.read = c.read
			_, err := registry(t, s).Read(t.Context(), call("find", `{"n":1}`))
			wantFailure(t, readFailure(t, err), c.class, c.code)
		})
	}
}

func TestReadTakesAbsentParamsAsAnObject(t *testing.T) {
	s := shop()
	s.read = func(_ context.Context, c connector.Call) (json.RawMessage, error) { return c.Params, nil }
	result, err := registry(t, s).Read(t.Context(), call("ping", ""))
	if err != nil || string(result) != "{}" {
		t.Errorf("read = %s, %v", result, err)
	}
}

func TestTimeIsTheMinimumOfTimeoutAndDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shop()
		s.read = func(ctx context.Context, _ connector.Call) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		r := registry(t, s)
		for _, c := range []struct{ deadline, want time.Duration }{{0, shopTimeout},
			{300 * time.Millisecond, 300 * time.Millisecond}, {time.Hour, shopTimeout}} {
			asked := call("find", `{"n":1}`)
			start := time.Now()
			if c.deadline > 0 {
				asked.Deadline = start.Add(c.deadline)
			}
			_, err := r.Read(t.Context(), asked)
			wantFailure(t, readFailure(t, err), eventlog.Transient, "call.timeout")
			if took := time.Since(start); took != c.want {
				t.Errorf("deadline %s: ended after %s, want %s", c.deadline, took, c.want)
			}
		}
	})
}

func TestALateReplyIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shop()
		s.perform = func(context.Context, connector.Call) connector.Outcome {
			time.Sleep(time.Hour) // virtual: does not heed its context
			return connector.Outcome{Status: connector.Applied, Result: json.RawMessage(`{"id":1}`)}
		}
		r := registry(t, s)
		late := make(chan connector.Outcome, 1)
		r.OnLate(func(c connector.Call, out connector.Outcome) {
			if c.Key != "k1" {
				t.Errorf("late call = %+v", c)
			}
			late <- out
		})
		start := time.Now()
		out := r.Perform(t.Context(), call("buy", `{"n":1}`))
		if out.Status != connector.Uncertain {
			t.Fatalf("status = %v, want Uncertain", out.Status)
		}
		if !out.Open {
			t.Error("the call is not said to be open")
		}
		wantFailure(t, out.Failure, eventlog.Transient, "call.timeout")
		if took := time.Since(start); took > 2*shopTimeout {
			t.Errorf("answered after %s", took)
		}
		if out := <-late; out.Status != connector.Applied || string(out.Result) != `{"id":1}` {
			t.Errorf("late outcome = %+v", out)
		}
	})
}

// F5: an open call is under way until its end is reported, also when its outcome is not known.
func TestF5_TheEndOfAnOpenCallIsToldWhateverItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shop()
		s.perform = func(context.Context, connector.Call) connector.Outcome {
			time.Sleep(time.Hour) // virtual
			return connector.UncertainWith(nil)
		}
		r := registry(t, s)
		late := make(chan connector.Outcome, 1)
		r.OnLate(func(_ connector.Call, out connector.Outcome) { late <- out })
		start := time.Now()
		if out := r.Perform(t.Context(), call("buy", `{"n":1}`)); !out.Open {
			t.Errorf("outcome = %+v, want an open one", out)
		}
		if out := <-late; out.Status != connector.Uncertain || out.Open || time.Since(start) < time.Hour {
			t.Errorf("after %s: %+v", time.Since(start), out)
		}
	})
}

func TestReconcile(t *testing.T) {
	s := shop()
	var answer connector.Reconciliation
	s.reconcile = func(context.Context, connector.Call) connector.Reconciliation { return answer }
	r := registry(t, s)
	for name, c := range map[string]struct {
		answer connector.Reconciliation
		want   connector.Verdict
		result string
	}{
		"applied": {connector.Reconciliation{Verdict: connector.VerdictApplied, Result: json.RawMessage(`1`)},
			connector.VerdictApplied, "1"},
		"malformed": {connector.Reconciliation{Verdict: connector.VerdictApplied, Result: json.RawMessage(`{`)},
			connector.VerdictRetry, ""},
		"failed":  {connector.Reconciliation{Verdict: connector.VerdictFailed}, connector.VerdictFailed, ""},
		"zero":    {connector.Reconciliation{}, connector.VerdictRetry, ""},
		"unknown": {connector.Reconciliation{Verdict: 9}, connector.VerdictRetry, ""},
		"too big": {connector.Reconciliation{Verdict: connector.VerdictApplied,
			Result: json.RawMessage(`"` + strings.Repeat("x", connector.MaxResult) + `"`)},
			connector.VerdictApplied, `{"truncated":true,"bytes":1048578}`},
	} {
		t.Run(name, func(t *testing.T) {
			answer = c.answer
			// Its deadline is long over: that ends no reconcile.
			asked := call("buy", `{"n":1}`)
			asked.Deadline = time.Now().Add(-time.Hour)
			got := r.Reconcile(t.Context(), asked)
			if got.Verdict != c.want || string(got.Result) != c.result {
				t.Errorf("reconciliation = %+v, want %v %s", got, c.want, c.result)
			}
			if c.want == connector.VerdictFailed && got.Failure == nil {
				t.Error("a failed call without a failure")
			}
		})
	}
	t.Run("panic", func(t *testing.T) {
		s.reconcile = func(context.Context, connector.Call) connector.Reconciliation { panic("boom") }
		if got := r.Reconcile(t.Context(), call("buy", `{"n":1}`)); got.Verdict != connector.VerdictRetry {
			t.Errorf("reconciliation = %+v, want retry", got)
		}
	})
}

// choosy reconciles calls with n = 1 only.
type choosy struct{ *fake }

func (choosy) ReconcilesCall(c connector.Call) bool { return string(c.Params) == `{"n":1}` }

func TestReconcilesDependsOnTheCall(t *testing.T) {
	r := registry(t, choosy{shop()})
	if !r.Reconciles(call("buy", `{"n":1}`)) || r.Reconciles(call("buy", `{"n":2}`)) ||
		r.Reconciles(call("find", `{"n":1}`)) {
		t.Error("Reconciles does not ask the connector about the call")
	}
	if got := r.Reconcile(t.Context(), call("buy", `{"n":2}`)); got.Verdict != connector.VerdictRetry {
		t.Errorf("reconciliation = %+v, want retry", got)
	}
}

// turner is a fake whose CallTurn a test gives.
type turner struct {
	*fake
	turn func() (connector.Turn, *eventlog.Failure)
}

func (t turner) CallTurn(context.Context, connector.Call) (connector.Turn, *eventlog.Failure) {
	return t.turn()
}

func (turner) MayWait() bool { return true }

// unbounded is a turner whose calls never wait.
type unbounded struct{ turner }

func (unbounded) MayWait() bool { return false }

// panicking is a turner that panics before it is asked for a turn.
type panicking struct{ turner }

func (panicking) MayWait() bool { panic("boom") }

func TestATurnIsNotAskedForWhereNoCallWaits(t *testing.T) {
	r := registry(t, unbounded{turner{shop(), func() (connector.Turn, *eventlog.Failure) { panic("asked") }}})
	if turn, failure := r.Turn(t.Context(), call("buy", `{"n":1}`)); turn != nil || failure != nil {
		t.Errorf("turn = %v, %v, want none", turn, failure)
	}
}

func TestAPanicInATurnIsAFailure(t *testing.T) {
	asked := turner{shop(), func() (connector.Turn, *eventlog.Failure) { panic("boom") }}
	for _, c := range []connector.Connector{asked, panicking{asked}} {
		turn, failure := registry(t, c).Turn(t.Context(), call("buy", `{"n":1}`))
		if turn != nil {
			t.Errorf("turn = %v, want none", turn)
		}
		wantFailure(t, failure, eventlog.Internal, connector.CodePanic)
	}
}
