package eventlog

import (
	"encoding/json"
	"strings"
	"testing"
)

// busy are transitions as a busy engine writes them, most of all.
func busy() map[string]Transition {
	const run, next, session = "01JD0000000000000000000001", "01JD0000000000000000000002", "01JD0000000000000000000003"
	in := NewInputID("push", "order.in", "order-01JD0000000000000000000004")
	envelope := Transition{
		ID: "01JD0000000000000000000000", Workflow: "bench-117", Revision: 4711, Prev: HashOf([]byte("previous")),
		At: 1_700_000_000_123_456, Actor: System, Cause: Cause{Kind: "run", ID: run},
	}
	with := func(facts ...Fact) Transition {
		t := envelope
		t.Kind, t.Facts = facts[0].FactType(), facts
		return t
	}
	started := &RunStarted{Run: next, Handler: "send", HandlerType: ConsumerHandler, Version: "1.0", Session: session,
		Phase: PhasePreparing, Engine: "01JD0000000000000000000005"}
	payload := json.RawMessage(`{"order":"order-01JD0000000000000000000004","lines":[{"sku":"A-1","count":3}],"note":"` +
		strings.Repeat("n", 100) + `"}`)
	return map[string]Transition{
		"push": with(
			&InputRegistered{Input: in, Source: "push", Type: "order.in", ExternalID: "order-01JD0000000000000000000004",
				Title: "Order 4711"},
			&EventPublished{Topic: "order.in", MessageID: "order-01JD0000000000000000000004", Title: "Order 4711",
				Payload: payload, CausedBy: []InputID{in}},
			&HandlerDirtied{Handler: "send"}, &SessionStarted{Session: session}, started),
		"prepared": with(
			&RunPrepared{Run: run, Result: payload, UITitle: "Send order 4711"},
			&EventReserved{Topic: "order.in", MessageID: "order-01JD0000000000000000000004", Run: run},
			&RunAdvanced{Run: run, Phase: PhaseMutating},
			&MutationStarted{
				Mutation: run, Run: run, Key: run, Deadline: 1_700_000_030_123_456, Engine: "01JD0000000000000000000005",
				Call: MutationCall{Connector: "http", Operation: "post", Params: payload, ParamsHash: strings.Repeat("ab", 32),
					UITitle: "Send", TimeoutMS: 30_000},
			}),
		"committed": with(
			&EventConsumed{Topic: "order.in", MessageID: "order-01JD0000000000000000000004", Run: run},
			&EventPublished{Topic: "order.sent", MessageID: "sent-01JD0000000000000000000004", Title: "Sent order 4711",
				Payload: json.RawMessage(`{"ok":true}`), CreatedBy: run, CausedBy: []InputID{in}},
			&RunCommitted{Run: run}, started),
	}
}

func BenchmarkEncode(b *testing.B) {
	for name, t := range busy() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Encode(t); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, t := range busy() {
		stored, err := Encode(t)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(stored); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
