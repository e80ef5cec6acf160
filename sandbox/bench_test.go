package sandbox

import (
	"encoding/json"
	"testing"
)

// BenchmarkInvoke runs one handler of the documented example per iteration.
func BenchmarkInvoke(b *testing.B) {
	e := NewInProcess(Config{})
	base := Invocation{Source: exampleSource(b), Topics: []string{"email.received", "row.created"},
		Operations: []Operation{{"gmail", "search", KindList}, {"sheets", "appendRow", KindMutate}},
		Pending: map[string][]Event{"email.received": {{MessageID: "m1", Topic: "email.received", Title: "T",
			Payload: json.RawMessage(`{"subject":"Hi","from":"a@example.com"}`)}}},
		Prepared:       json.RawMessage(`{"reservations":[{"topic":"email.received","ids":["m1"]}],"data":{"email":{"subject":"Hi","from":"a@example.com"}}}`),
		MutationResult: json.RawMessage(`{"status":"applied","result":{"rowId":5}}`)}
	host := fakeHost{"gmail.search": answers(`[{"id":"m1","from":"a@example.com","subject":"Hi"}]`)}
	phases := []struct {
		phase   Phase
		handler string
	}{{Producer, "pollEmail"}, {Prepare, "processEmail"}, {Mutate, "processEmail"}, {Next, "processEmail"}}
	for _, p := range phases {
		call := base
		call.Phase, call.Handler = p.phase, p.handler
		b.Run(string(p.phase), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Invoke(b.Context(), call, host); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("prepare+mutate+next", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, p := range phases[1:] {
				call := base
				call.Phase, call.Handler = p.phase, p.handler
				if _, err := e.Invoke(b.Context(), call, host); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkDescribe compiles and reads the documented example.
func BenchmarkDescribe(b *testing.B) {
	e, source := NewInProcess(Config{}), exampleSource(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, problems, err := e.Describe(b.Context(), source); err != nil || len(problems) > 0 {
			b.Fatal(problems, err)
		}
	}
}
