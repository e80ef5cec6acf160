package worker

import (
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// exampleCall calls a handler of the documented example.
func exampleCall(b *testing.B, phase sandbox.Phase) sandbox.Invocation {
	call := sandbox.Invocation{Source: exampleSource(b), Phase: phase, Handler: "processEmail",
		Topics: []string{"email.received", "row.created"},
		Operations: []sandbox.Operation{{Connector: "gmail", Operation: "search", Kind: sandbox.KindList},
			{Connector: "sheets", Operation: "appendRow", Kind: sandbox.KindMutate}},
		Pending: map[string][]sandbox.Event{"email.received": {{MessageID: "m1", Topic: "email.received", Title: "T",
			Payload: json.RawMessage(`{"subject":"Hi","from":"a@example.com"}`)}}},
		Prepared: json.RawMessage(
			`{"reservations":[{"topic":"email.received","ids":["m1"]}],"data":{"email":{"subject":"Hi",` +
				`"from":"a@example.com"}}}`),
		MutationResult: json.RawMessage(`{"status":"applied","result":{"rowId":5}}`)}
	if phase == sandbox.Producer {
		call.Handler = "pollEmail"
	}
	return call
}

var exampleHost = fakeHost{"gmail.search": answers(`[{"id":"m1","from":"a@example.com","subject":"Hi"}]`)}

// BenchmarkInvoke runs one handler of the documented example per iteration.
func BenchmarkInvoke(b *testing.B) {
	e := vm.NewExecutor(vm.Config{})
	run := func(b *testing.B, calls ...sandbox.Invocation) {
		b.ReportAllocs()
		for b.Loop() {
			for _, call := range calls {
				if _, err := e.Invoke(b.Context(), call, exampleHost); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	for _, phase := range []sandbox.Phase{sandbox.Producer, sandbox.Prepare, sandbox.Mutate, sandbox.Next} {
		b.Run(string(phase), func(b *testing.B) { run(b, exampleCall(b, phase)) })
	}
	b.Run("prepare+mutate+next", func(b *testing.B) {
		run(b, exampleCall(b, sandbox.Prepare), exampleCall(b, sandbox.Mutate), exampleCall(b, sandbox.Next))
	})
}

// BenchmarkDescribe compiles and reads the documented example.
func BenchmarkDescribe(b *testing.B) {
	e, source := vm.NewExecutor(vm.Config{}), exampleSource(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, problems, err := e.Describe(b.Context(), source); err != nil || len(problems) > 0 {
			b.Fatal(problems, err)
		}
	}
}
