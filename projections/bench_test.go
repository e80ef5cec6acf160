package projections_test

import (
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// item is what an event of a workflow with a consumer comes to, transition by transition: it is
// pushed, prepared and sent, answered, and answered for; then the consumer finds nothing more.
func item(n int) [][]eventlog.Fact {
	id := func(kind string) string { return fmt.Sprintf("01JD%s%020d", kind, n) }
	run, empty := eventlog.RunID(id("R1")), eventlog.RunID(id("R2"))
	session, in := eventlog.SessionID(id("S1")), eventlog.InputID(id("IN"))
	ref := eventlog.EventRef{Topic: "in", MessageID: eventlog.MessageID(id("EV"))}
	start := func(run eventlog.RunID) eventlog.Fact {
		return &eventlog.RunStarted{Run: run, Handler: "send", HandlerType: eventlog.ConsumerHandler, Version: "1.0",
			Session: session, Phase: eventlog.PhasePreparing, Engine: "e"}
	}
	return [][]eventlog.Fact{
		{
			&eventlog.InputRegistered{Input: in, Source: "push", Type: "in", ExternalID: string(ref.MessageID), Title: "Item"},
			&eventlog.EventPublished{Topic: "in", MessageID: ref.MessageID, Title: "Item", Payload: []byte(`{"n":1}`),
				CausedBy: []eventlog.InputID{in}},
			&eventlog.HandlerDirtied{Handler: "send"}, &eventlog.SessionStarted{Session: session}, start(run),
		},
		{
			&eventlog.RunPrepared{Run: run, Result: []byte(`{}`)}, &eventlog.EventReserved{Topic: "in", MessageID: ref.MessageID,
				Run: run},
			&eventlog.RunAdvanced{Run: run, Phase: eventlog.PhaseMutating},
			&eventlog.MutationStarted{Mutation: eventlog.MutationID(run), Run: run,
				Call: eventlog.MutationCall{Connector: "http", Operation: "post", Params: []byte(`{}`)}},
		},
		{
			&eventlog.MutationApplied{Mutation: eventlog.MutationID(run), Run: run, Result: []byte(`{}`)},
			&eventlog.RunAdvanced{Run: run, Phase: eventlog.PhaseMutated},
			&eventlog.RunAdvanced{Run: run, Phase: eventlog.PhaseEmitting},
		},
		{
			&eventlog.EventConsumed{Topic: "in", MessageID: ref.MessageID, Run: run},
			&eventlog.EventPublished{Topic: "out", MessageID: ref.MessageID, Title: "Sent", Payload: []byte(`{}`),
				CreatedBy: run, CausedBy: []eventlog.InputID{in}},
			&eventlog.RunCommitted{Run: run}, start(empty),
		},
		{
			&eventlog.RunPrepared{Run: empty}, &eventlog.RunAdvanced{Run: empty, Phase: eventlog.PhaseMutating},
			&eventlog.RunAdvanced{Run: empty, Phase: eventlog.PhaseMutated},
			&eventlog.RunAdvanced{Run: empty, Phase: eventlog.PhaseEmitting},
			&eventlog.RunCommitted{Run: empty}, &eventlog.HandlerCleaned{Handler: "send"},
			&eventlog.SessionEnded{Session: session, Result: "completed"},
		},
	}
}

// BenchmarkApply folds one item, with so many more in memory that are not evicted yet.
func BenchmarkApply(b *testing.B) {
	deployed := func(b *testing.B) *projections.State {
		return apply(b, new(projections.State), &eventlog.WorkflowDeployed{
			Version: "1.0", Definition: eventlog.Definition{Topics: []eventlog.Topic{"in", "out"},
				Consumers: []eventlog.Consumer{{Name: "send", Subscribe: []eventlog.Topic{"in"}}}},
		})
	}
	for _, more := range []int{3, 1000} {
		b.Run(fmt.Sprint(more), func(b *testing.B) {
			s := deployed(b)
			for n := range more {
				for _, facts := range item(n) {
					s = apply(b, s, facts...)
				}
			}
			transitions := item(more)
			b.ReportAllocs()
			for b.Loop() {
				next := s
				for _, facts := range transitions {
					next = apply(b, next, facts...)
				}
			}
		})
	}
}

func apply(b testing.TB, s *projections.State, facts ...eventlog.Fact) *projections.State {
	next, err := projections.Apply(s, &eventlog.Record{
		Position:   eventlog.Position{Seq: s.Head.Seq + 1},
		Transition: eventlog.Transition{Workflow: "w", Revision: s.Head.Revision + 1, At: 1, Facts: facts},
	})
	if err != nil {
		b.Fatal(err)
	}
	return next
}
